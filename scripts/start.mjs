import { load } from "./load.mjs"

const { start } = await load("main")
start()
