// Prompts once through OpenCode's SDK and prints what it was told: node sdk_client.mjs MODULES 1|2 URL DIRECTORY PASSWORD
import { pathToFileURL } from "node:url"

const [modules, generation, url, directory, password] = process.argv.slice(2)
const entry = `${modules}/@opencode-ai/sdk/dist/${generation === "2" ? "v2/" : ""}index.js`
const { createOpencodeClient } = await import(pathToFileURL(entry).href)
const authorization = "Basic " + Buffer.from(`opencode:${password}`).toString("base64")
const client = createOpencodeClient({ baseUrl: url, directory, headers: { authorization } })

const seen = []
const { stream } = await client.event.subscribe()
const idle = (async () => {
  for await (const event of stream) {
    seen.push({ type: event.type, properties: event.properties })
    if (event.type === "session.idle") return
  }
})()

const parts = [{ type: "text", text: "list the files" }]
const named = (sessionID, body) => (generation === "2" ? { sessionID, ...body } : { path: { id: sessionID }, ...(body && { body }) })
const title = { title: "By the SDK" }
const session = (await client.session.create(generation === "2" ? title : { body: title })).data
const answer = (await client.session.prompt(named(session.id, { parts }))).data
await idle
const messages = (await client.session.messages(named(session.id))).data
const missing = (await client.session.get(named("ses_missing"))).error
console.log(JSON.stringify({ session, answer, seen, messages, missing }))
process.exit(0)
