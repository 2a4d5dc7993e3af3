import { onDatabase } from "./Durability.ts"

/** Everything that webhooks of this database wait for is so much nearer, as if its clock had gone on. */
export const passWebhookTime = (url: string, millis: number) => {
  const time = `interval '${millis} milliseconds'`
  return onDatabase(url, (sql) =>
    sql.unsafe(`do $$ begin
      update webhook_deliveries set next_at = next_at - ${time}, leased_until = leased_until - ${time}
        where status = 'pending';
      update webhook_queues set look_at = look_at - ${time} where look_at is not null;
      update webhooks set failing_since = failing_since - ${time} where failing_since is not null;
    end $$`)
  )
}
