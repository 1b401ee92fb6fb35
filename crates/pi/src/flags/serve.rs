//! The command `pi serve`. Its options for sessions are those of `pi acp`.

use super::acp::SESSIONS;
use super::{Command, Completes, Flag, Group};
use Group::General;

const OWN: &[Flag] = &[
    Flag::new("port", General, "Port to listen at; 7317 by default, 0 for any free one")
        .takes("PORT"),
    Flag::new("bind", General, "Address to listen at; 127.0.0.1 by default")
        .takes("ADDRESS")
        .details("An address that other machines can reach requires --tls-cert and --tls-key, or --insecure-lan."),
    Flag::new("tls-cert", General, "File with the certificate of the server, in PEM format")
        .takes("FILE")
        .files(),
    Flag::new("tls-key", General, "File with the key of --tls-cert, in PEM format")
        .takes("FILE")
        .files(),
    Flag::new("insecure-lan", General, "Permit other machines to connect without TLS")
        .details("Everyone in the network can read tokens and sessions then."),
    Flag::new("public-url", General, "Address of the server as browsers see it, behind a proxy")
        .takes("URL"),
    Flag::new("allow-host", General, "Host name that requests may use besides localhost")
        .takes("HOST")
        .repeats(),
    Flag::new("token-file", General, "File with the token of the owner, instead of a random one")
        .takes("FILE")
        .files(),
    Flag::new("directory", General, "Directory in which clients can start sessions, and below it")
        .takes("DIR")
        .directories()
        .repeats()
        .details("The default is the working directory. Stored sessions of all directories are shown."),
    Flag::new("open", General, "Open the page in a browser of this machine"),
    Flag::new("no-qr", General, "Print no QR code"),
    Flag::new("install", General, "Start this server with every login of the user, and now")
        .details("Writes a systemd user unit, or a launchd agent on macOS, with the other options."),
    Flag::new("uninstall", General, "Take --install back"),
    Flag::new("share", General, "Make a link for viewing one session, and start no server")
        .takes("SESSION")
        .completes(Completes::Sessions),
    Flag::new("view", General, "The right of --share; links for one session have no other"),
    Flag::new("for", General, "Time after which the link of --share ends, such as 30m, 2h or 7d")
        .takes("TIME")
        .details("The default is one day."),
];

const FLAGS: &[Flag] = &joined();

const fn joined() -> [Flag; OWN.len() + SESSIONS.len()] {
    let mut flags = [OWN[0]; OWN.len() + SESSIONS.len()];
    let mut at = 0;
    while at < flags.len() {
        flags[at] = if at < OWN.len() { OWN[at] } else { SESSIONS[at - OWN.len()] };
        at += 1;
    }
    flags
}

const TOKEN: &[Command] = &[
    Command::new("add", "Add a token and print it once")
        .words("NAME", 1, 1)
        .details(
            "Give every device and program a token of its own, so that it can be revoked alone. \
             Only a hash of it is stored.",
        )
        .examples(&[
            "pi serve token add phone --right approve",
            "pi serve token add ci --right drive --for 30d",
        ])
        .flags(&[
            Flag::new("right", General, "The most that the token permits; view by default")
                .takes("RIGHT")
                .choices(&["view", "drive", "approve", "admin"])
                .details(
                    "view reads sessions and runs; drive also sends prompts and commands; approve \
                     also answers approvals and dialogs; admin also deletes sessions and changes \
                     tokens.",
                ),
            Flag::new(
                "session",
                General,
                "The only session that the token reaches; it may only view",
            )
            .takes("SESSION")
            .completes(Completes::Sessions),
            Flag::new("for", General, "Time after which the token ends, such as 30m, 2h or 7d")
                .takes("TIME"),
        ]),
    Command::new("list", "List the tokens, without their values").flags(&[super::commands::JSON]),
    Command::new("revoke", "Revoke a token and end its connections").words("NAME", 1, 1),
];

pub(super) const SERVE: Command =
    Command::new("serve", "Serve sessions to browsers, phones and other programs")
        .details(
            "Starts a server with a page for browsers, and prints its address with a token. Every \
             session of this machine can be watched there, driven and approved, as far as the token \
             permits. Sessions that run in the server have the policy and the sandbox that these \
             options and your settings give; a client cannot loosen them. `pi help topic:serve` is \
             the guide.",
        )
        .commands(&[
            Command::new("start", "Start the server; `pi serve` does the same")
                .examples(&[
                    "pi serve --open",
                    "pi serve --directory ~/work --profile careful",
                    "pi serve --public-url https://pi.example.org",
                    "pi serve --share 0199 --view --for 2h",
                ])
                .flags(FLAGS),
            Command::new("token", "Add, list and revoke tokens").commands(TOKEN).default("list"),
        ])
        .default("start");
