//! The commands for credentials.

use super::commands::{JSON, MANY, PROVIDER};
use super::{Command, Completes, Flag, Group};

const MODEL: Flag = Flag::new("model", Group::General, "Use the provider of this model")
    .takes_word("MODEL")
    .completes(Completes::Models);
const ACCOUNT: Flag =
    Flag::new("account", Group::General, "Account of the provider").takes("NAME").details(
        "Several accounts of one provider are separate entries of auth.json, such as openai@work.",
    );

const METHOD: Flag = Flag::new("method", Group::General, "Kind of credential").takes_word("NAME").details(
    "amazon-bedrock: bearer, profile or chain. google-vertex: key, adc or service-account. azure: key \
     or entra. All others: key.",
);
const ENV: Flag = Flag::new("env", Group::General, "Variable to store with the credential")
    .takes("NAME=VALUE")
    .repeats()
    .details("For example AWS_REGION, AZURE_OPENAI_BASE_URL or CLOUDFLARE_ACCOUNT_ID. Not for secrets: other users can see arguments.");

/// The commands of `pi auth`.
pub(super) const AUTH: &[Command] = &[
    Command::new("login", "Sign in to a provider")
        .words("[PROVIDER]", 0, 1)
        .completes(Completes::Providers)
        .details(
            "Opens the page of the provider in a browser, prints its address, and waits until the \
             browser returns or you paste the code. Over SSH and without a display no browser is \
             opened. Providers without a login ask for a key. The tokens are stored in auth.json \
             of the agent directory, which only you can read.\n\
             With --json, events are JSON lines on stdout and answers are read as JSON lines from \
             stdin; see `pi help logins`.",
        )
        .examples(&[
            "pi auth login openrouter",
            "pi auth login openai --account work",
            "pi auth login github-copilot --device",
        ])
        .flags(&[
            Flag::new("device", Group::General, "Show a code to enter on any device"),
            Flag::new("paste", Group::General, "Paste the code from a browser on any machine"),
            Flag::new("no-browser", Group::General, "Print the address and open no browser"),
            ACCOUNT,
            Flag::new("service", Group::General, "Service of the settings to sign in with")
                .takes("NAME"),
            METHOD,
            ENV,
            Flag::new("json", Group::General, "Print events and read answers as JSON lines"),
        ]),
    Command::new("logout", "Remove a stored credential and revoke its tokens")
        .words("PROVIDER", 1, 1)
        .completes(Completes::Providers)
        .details("Tokens are revoked if the provider has an endpoint for that.")
        .flags(&[ACCOUNT, JSON]),
    Command::new("status", "Show the credentials of all providers, without their values")
        .words("[PROVIDER]...", 0, MANY)
        .completes(Completes::Providers)
        .details("Runs no command and sends nothing.")
        .flags(&[JSON]),
    Command::new("doctor", "Explain which credential a provider uses, and why not another")
        .words("[PROVIDER]...", 0, MANY)
        .completes(Completes::Providers)
        .details(
            "Lists the sources in their order, the expiry of logins, and the price of a request. \
             Runs no command, sends nothing and shows no secret.",
        )
        .flags(&[JSON]),
    Command::new("check", "Check whether a provider can be used")
        .words("[PROVIDER]", 0, 1)
        .completes(Completes::Providers)
        .details(
            "Prints ready (exit code 0), not_ready (1) or invalid (2), and the reason on stderr. \
             Keys that are configured as commands are executed. The JSON object has status, \
             provider, and authType or reason.",
        )
        .flags(&[
            PROVIDER,
            MODEL,
            ACCOUNT,
            JSON,
            Flag::new("credentials", Group::General, "Print the credential if it is ready"),
            Flag::new("no-refresh", Group::General, "Do not renew an expired login"),
        ]),
    Command::new("print-api-key", "Print the API key of a provider")
        .words("[PROVIDER]", 0, 1)
        .completes(Completes::Providers)
        .flags(&[PROVIDER, MODEL, ACCOUNT]),
    Command::new("print-bearer-token", "Print the bearer token of a login")
        .words("[PROVIDER]", 0, 1)
        .completes(Completes::Providers)
        .flags(&[
            PROVIDER,
            MODEL,
            ACCOUNT,
            Flag::new("min-expiry", Group::General, "Minimum remaining validity, such as 30m")
                .takes_word("DURATION")
                .details(
                    "A number followed by ms, s, m or h. A login that ends earlier is renewed.",
                ),
        ]),
    Command::new("list", "List the sources of credentials, without their values").flags(&[JSON]),
    Command::new("set", "Store an API key")
        .words("PROVIDER", 1, 1)
        .completes(Completes::Providers)
        .details(
            "On a terminal, pi asks for the key and does not show it. Otherwise it is read from \
             stdin, for example: pass show openai | pi auth set openai\n\
             The key is stored in auth.json of the agent directory, which only you can read. To \
             look a key up on demand, write \"$NAME\" or \"!command\" into that file instead.",
        )
        .flags(&[ACCOUNT, METHOD, ENV]),
    Command::new("remove", "Remove a stored credential, as logout does")
        .words("PROVIDER", 1, 1)
        .completes(Completes::Providers)
        .flags(&[ACCOUNT, JSON]),
];
