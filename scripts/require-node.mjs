const needed = [22, 19]
const [major, minor] = process.versions.node.split(".").map(Number)
if (major < needed[0] || (major === needed[0] && minor < needed[1])) {
  process.stderr.write(
    `agentd needs Node.js ${needed.join(".")} or newer; this is ${process.versions.node}. ` +
      "On Linux and Windows `npm ci` brings one along: start it with `npm start`.\n"
  )
  process.exit(1)
}
