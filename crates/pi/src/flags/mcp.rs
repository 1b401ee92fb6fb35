//! The commands for MCP servers.

use super::commands::{JSON, MANY};
use super::{Command, Flag, Group};

const LOCAL: Flag =
    Flag::new("local", Group::General, "Use .pi/mcp.json of the project").short("l");

/// `pi mcp` and its commands.
pub(super) const MCP: Command = Command::new("mcp", "Add, check, sign in to and call MCP servers")
    .details(
        "Servers are configured in mcp.json of the agent directory and, in trusted projects, in \
         .pi/mcp.json. See `pi help topic:mcp`.",
    )
    .commands(COMMANDS);

const COMMANDS: &[Command] = &[
    Command::new("add", "Add or replace a server")
        .words("SERVER [-- COMMAND...]", 1, MANY)
        .details(
            "A server is a program and its arguments, after --, or a URL. Values of --env and \
             --header may contain ${NAME} for a variable, or be !COMMAND for the output of a \
             command; they are resolved when the server starts.",
        )
        .examples(&[
            "pi mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
            "pi mcp add docs --url https://docs.example/mcp",
            "pi mcp add tools -l --env KEY='${TOOLS_KEY}' -- uvx tools-mcp",
        ])
        .flags(&[
            LOCAL,
            Flag::new("url", Group::General, "URL of a server with streamable HTTP").takes("URL"),
            Flag::new("env", Group::General, "Variable of the program")
                .takes("NAME=VALUE")
                .repeats(),
            Flag::new("cwd", Group::General, "Working directory of the program")
                .takes("DIR")
                .directories(),
            Flag::new("header", Group::General, "Header of requests").takes("NAME=VALUE").repeats(),
            Flag::new(
                "bearer-token-env-var",
                Group::General,
                "Variable whose value is sent as bearer token",
            )
            .takes("NAME"),
            Flag::new("oauth-client-id", Group::General, "Id of a registered OAuth client")
                .takes("ID"),
            Flag::new("oauth-client-secret", Group::General, "Secret of the OAuth client")
                .takes("SECRET")
                .details("Use ${NAME} or !COMMAND: other users can see arguments."),
            Flag::new("oauth-callback-port", Group::General, "Port to which the browser returns")
                .takes("PORT"),
            Flag::new("oauth-client-name", Group::General, "Name with which to register")
                .takes("NAME"),
            Flag::new("oauth-client-registration", Group::General, "Kind of OAuth client")
                .takes("KIND")
                .choices(&["auto", "cimd", "dcr"]),
            Flag::new("exposure", Group::General, "The way in which the model reaches the tools")
                .takes("EXPOSURE")
                .choices(&["codemode", "deferred", "direct", "hidden"]),
            Flag::new("approval", Group::General, "Approval of calls, beside the policy")
                .takes("APPROVAL")
                .choices(&["allow", "ask", "deny"]),
            Flag::new("description", Group::General, "Description of the server in a sentence")
                .takes("TEXT"),
        ]),
    Command::new("remove", "Remove a server").words("SERVER", 1, 1).flags(&[LOCAL]),
    Command::new("list", "Connect all servers and show their state and tools")
        .details(
            "The exit code is 1 if an entry is invalid or an enabled server cannot be connected.",
        )
        .flags(&[JSON]),
    Command::new("login", "Sign in to a server")
        .words("SERVER", 1, 1)
        .details(
            "Opens the page of the authorization server in a browser, prints its address, and \
             waits until the browser returns or you paste the address to which it was sent. The \
             tokens are stored in mcp-auth.json of the agent directory, which only you can read.",
        )
        .flags(&[
            LOCAL,
            Flag::new("timeout", Group::General, "Time for the sign-in in seconds; 300 by default")
                .takes("SECONDS"),
            Flag::new("no-browser", Group::General, "Print the address and open no browser"),
        ]),
    Command::new("logout", "Remove the sign-in to a server and revoke its tokens")
        .words("SERVER", 1, 1)
        .flags(&[LOCAL]),
    Command::new("check", "Explain what is wrong with servers, and what to do")
        .words("[SERVER]...", 0, MANY)
        .details(
            "Checks the configuration, the program or the connection, the protocol, the sign-in, \
             the tools, and whether descriptions of tools have changed since they were first used.",
        )
        .flags(&[JSON]),
    Command::new("call", "Call a tool of a server")
        .words("SERVER TOOL [JSON | NAME=VALUE...]", 2, MANY)
        .details(
            "Arguments are a JSON object, or names with values; a value that is valid JSON is \
             used as such, everything else is text. The policy applies: a call that would need \
             approval is confirmed on the terminal, or with --yes.",
        )
        .examples(&[
            "pi mcp call docs search query=\"rate limits\" limit=3",
            "pi mcp call files read_file '{\"path\": \"README.md\"}' --json",
        ])
        .flags(&[JSON, Flag::new("yes", Group::General, "Do not ask for confirmation").short("y")]),
    super::mcp_serve::SERVE,
];
