import { writeFileSync } from "node:fs"
import * as OpenApi from "effect/http-api/OpenApi"
import { Api } from "../src/Api/Api.ts"

const path = new URL("../openapi.json", import.meta.url)
writeFileSync(path, `${JSON.stringify(OpenApi.fromApi(Api), null, 2)}\n`)
