/** What the endpoints of policies say alike, of agents and of cron jobs. */
export const policyTells =
  "`tools`: of the rules that match a tool, by a name in which `*` is any text, a `deny` anywhere wins: the model is " +
  "not shown the tool, and it is never called. Else the first rule of the cron job counts, else the first of the agent, " +
  "else the level of autonomy: that of the task or message, else of the cron job, else of the agent, else " +
  "`semi-autonomous`. `connectorIds` are the only connectors that there are, and `maxSteps` and `maxSeconds` bound a run " +
  "where the service would allow more. What is null says nothing."

export const policyChanges =
  "By an owner, or by a member where it only restricts what it was. Runs take it when they are made, and nothing that " +
  "is changed later changes them."
