import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as Schema from "effect/Schema"
import { AccountCommand, AccountError, AccountResult } from "../Schemas/Account.ts"
import { DatabaseFacts } from "../Schemas/Doctor.ts"
import { SecretsError, SecretsReport } from "../Schemas/Secrets.ts"
import { TransferError } from "../Schemas/Transfer.ts"
import { Unavailable } from "./Errors.ts"

/**
 * How the command line reaches a running server: on a socket that only its owner may open, and never
 * on the network.
 */
export const OperatorApi = HttpApi.make("agentd-operator").add(
  HttpApiGroup.make("accounts").add(
    HttpApiEndpoint.post("execute", "/accounts", {
      payload: AccountCommand,
      success: AccountResult,
      error: [AccountError.pipe(HttpApiSchema.status(422)), Unavailable]
    })
  ),
  HttpApiGroup.make("secrets").add(
    HttpApiEndpoint.post("reseal", "/secrets", {
      payload: Schema.Struct({ newKey: Schema.Boolean }),
      success: SecretsReport,
      error: [SecretsError.pipe(HttpApiSchema.status(422)), Unavailable]
    })
  ),
  HttpApiGroup.make("doctor").add(
    HttpApiEndpoint.post("look", "/doctor", {
      success: Schema.Struct({ database: DatabaseFacts, secrets: SecretsReport }),
      error: Unavailable
    })
  ),
  HttpApiGroup.make("transfer").add(
    // To a file: what is read slowly over a socket would hold up the one connection of the database.
    HttpApiEndpoint.post("export", "/export", {
      payload: Schema.Struct({ path: Schema.String }),
      success: Schema.Struct({ rows: Schema.Int }),
      error: TransferError.pipe(HttpApiSchema.status(422))
    })
  )
)
