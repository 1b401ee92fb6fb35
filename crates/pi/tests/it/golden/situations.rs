//! The situations: how the model answers, the settings, and the prompt of the user.
//!
//! A front end adds its arguments and the steps of its client. It must not change a situation.

use serde_json::{Value, json};

use crate::bad_input::ServerEnv;
use crate::scenarios::format::{Call, Part, Reply, Status};

/// How the run of a situation ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The agent settles after the model was asked.
    Settled,
    /// The prompt is refused, or dealt with by an extension without the model.
    NotAsked,
    /// The client aborts the run after the first request, which has no answer.
    AbortWaiting,
    /// The client aborts the run when the text `Partial` was shown.
    AbortStreaming,
}

/// One situation.
#[derive(Clone)]
pub(super) struct Situation {
    pub(super) name: &'static str,
    pub(super) prompt: &'static str,
    pub(super) replies: Vec<Reply>,
    /// Settings in addition to the model.
    settings: Value,
    /// Files of the agent directory, by path.
    files: Vec<(&'static str, String)>,
    pub(super) ending: Ending,
}

/// Commands of the user, and an extension that deals with a prompt. `/ask` waits for the start of the
/// run: otherwise, the end of the command and the start would have no order.
pub(super) const EXTENSION: &str = r#"
export default (pi) => {
    let started;
    pi.on("agent_start", () => started?.());
    pi.registerCommand("local", {
        description: "Needs no model",
        handler: async (args, ctx) => ctx.ui.notify(`local: ${args}`, "info"),
    });
    pi.registerCommand("ask", {
        description: "Asks the model",
        handler: async (args) => {
            const start = new Promise((resolve) => { started = resolve; });
            pi.sendUserMessage(`Asked: ${args}`);
            await start;
        },
    });
    pi.registerCommand("broken", {
        description: "Fails",
        handler: async () => { throw new Error("the command is broken"); },
    });
    pi.registerCommand("fresh", {
        description: "Starts a new session",
        handler: async (args, ctx) => { await ctx.newSession(); },
    });
    pi.registerCommand("fresh-ask", {
        description: "Starts a new session and asks the model",
        handler: async (args, ctx) => {
            await ctx.newSession({
                withSession: async (next) => { await next.sendUserMessage(`Fresh: ${args}`); },
            });
        },
    });
    pi.on("input", (event) => {
        if (event.text === "Deal with it") return { action: "handled" };
    });
};
"#;

/// A model whose key is in a variable that is not set.
const NO_KEY: &str = r#"{"providers": {"mock": {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": "$NOT_SET",
    "api": "openai-completions", "models": [{"id": "m1"}]}}}"#;

impl Situation {
    pub(super) fn new(name: &'static str, replies: Vec<Reply>) -> Self {
        let (settings, files, ending) = (json!({}), Vec::new(), Ending::Settled);
        Self { name, prompt: "Go", replies, settings, files, ending }
    }

    pub(super) fn settings(self, settings: Value) -> Self {
        Self { settings, ..self }
    }

    pub(super) fn prompt(self, prompt: &'static str) -> Self {
        Self { prompt, ..self }
    }

    pub(super) fn ending(self, ending: Ending) -> Self {
        Self { ending, ..self }
    }

    pub(super) fn file(mut self, path: &'static str, content: &str) -> Self {
        self.files.push((path, content.to_owned()));
        self
    }

    /// Writes the configuration.
    pub(super) fn prepare(&self, env: &ServerEnv) {
        let mut settings = json!({
            "defaultProvider": "mock", "defaultModel": "m1", "retry": { "baseDelayMs": 1 },
        });
        for (key, value) in self.settings.as_object().unwrap() {
            settings[key] = value.clone();
        }
        env.write("settings.json", settings.to_string());
        for (path, content) in &self.files {
            env.write(path, content);
        }
        std::fs::write(env.project().join("note.txt"), "A note.\n").unwrap();
    }
}

pub(super) fn text(text: &str) -> Reply {
    Reply::Text(text.to_owned())
}

/// Returns an answer that calls a tool.
pub(super) fn call(id: &str, name: &str, args: Value) -> Reply {
    let (id, name) = (id.to_owned(), name.to_owned());
    Reply::Parts(vec![Part::Call(Call { id, name, args, pieces: None })])
}

/// Returns a reply that is an error.
pub(super) fn status(code: u16, message: &str) -> Reply {
    let body = json!({ "error": { "message": message } });
    Reply::Parts(vec![Part::Status(Status { code, headers: Default::default(), body })])
}

pub(super) fn hang() -> Reply {
    Reply::Parts(vec![Part::Hang])
}

/// A model that reads the note for ever.
pub(super) fn looping() -> Vec<Reply> {
    (1..20).map(|n| call(&format!("call_{n}"), "read", json!({ "path": "note.txt" }))).collect()
}

pub(super) fn hook(event: &str, command: &str) -> Value {
    let hook = json!({ "type": "command", "command": command, "name": "check" });
    json!({ "hooks": { event: [{ "hooks": [hook] }] } })
}

pub(super) fn guardrail(on: &str, action: &str, word: &str) -> Value {
    let guardrail =
        json!({ "name": "words", "on": on, "action": action, "rule": { "matches": word } });
    json!({ "guardrails": [guardrail] })
}

/// Returns the situations of all front ends.
pub(super) fn all() -> Vec<Situation> {
    use Ending::{AbortStreaming, AbortWaiting, NotAsked, Settled};
    let answer = || vec![text("An answer.")];
    let two = |text: &str| vec![Part::Text(text.to_owned()), Part::Text(" Done.".to_owned())];
    let cut = vec![
        Part::Text("Half an".to_owned()),
        Part::Finish(vec![json!("length"), json!(10), json!(2)]),
    ];
    let partial = vec![Part::Text("Partial".to_owned()), Part::Hang];
    let command = |name: &'static str, prompt: &'static str, ending: Ending| {
        let situation = Situation::new(name, answer()).prompt(prompt).ending(ending);
        situation.file("extensions/commands.ts", EXTENSION)
    };
    vec![
        Situation::new(
            "success",
            vec![
                call("call_1", "read", json!({ "path": "note.txt" })),
                Reply::Parts(two("The note was read.")),
            ],
        ),
        Situation::new("empty", vec![text("")]),
        Situation::new("truncated", vec![Reply::Parts(cut)]),
        Situation::new("failure", vec![status(400, "The request is invalid.")]),
        Situation::new("failure-key", vec![status(401, "The key is invalid.")]),
        Situation::new(
            "failure-tool",
            vec![
                call("call_1", "read", json!({ "path": "none.txt" })),
                text("There is no such file."),
            ],
        ),
        Situation::new("retried", vec![status(503, "Busy."), text("An answer.")]),
        Situation::new("retries-exhausted", vec![status(503, "Busy."); 9])
            .settings(json!({ "retry": { "baseDelayMs": 1, "maxRetries": 1 } })),
        Situation::new("abort-waiting", vec![hang()]).ending(AbortWaiting),
        Situation::new("abort-streaming", vec![Reply::Parts(partial)]).ending(AbortStreaming),
        Situation::new("limit-turns", looping()).settings(json!({ "limits": { "maxTurns": 2 } })),
        Situation::new("limit-tokens", looping())
            .settings(json!({ "limits": { "maxTokens": 20 } })),
        Situation::new("limit-tool-calls", looping())
            .settings(json!({ "limits": { "maxToolCalls": 1 } })),
        Situation::new("repetition", looping()),
        Situation::new("refused-hook", vec![])
            .settings(hook("beforePrompt", "echo 'Not on Sunday.' >&2; exit 2"))
            .ending(NotAsked),
        Situation::new("refused-guardrail", vec![])
            .settings(guardrail("input", "block", "Go"))
            .ending(NotAsked),
        Situation::new("refused-no-model", vec![])
            .file("models.json", "{\"providers\": {}}")
            .ending(NotAsked),
        Situation::new("refused-no-key", vec![]).file("models.json", NO_KEY).ending(NotAsked),
        Situation::new("stopped-hook", answer())
            .settings(hook("stop", r#"echo '{"continue": false, "stopReason": "Bye."}'"#)),
        Situation::new("stopped-guardrail", answer())
            .settings(guardrail("output", "stop", "answer")),
        command("command-local", "/local one two", NotAsked),
        command("command-broken", "/broken", NotAsked),
        command("command-asks", "/ask one two", Settled),
        command("input-handled", "Deal with it", NotAsked),
        command("replaced", "/fresh now", NotAsked),
        command("replaced-asks", "/fresh-ask now", Settled),
    ]
}

/// Returns the situations of all front ends but these.
pub(super) fn all_but(names: &[&str]) -> Vec<Situation> {
    let mut situations = all();
    for name in names {
        let count = situations.len();
        situations.retain(|situation| situation.name != *name);
        assert_eq!(situations.len() + 1, count, "there is no situation {name}");
    }
    situations
}

/// Returns a situation of all front ends.
pub(super) fn named(name: &str) -> Situation {
    all().into_iter().find(|situation| situation.name == name).expect(name)
}

/// Returns the situation of two prompts with an answer each.
pub(super) fn two_answers() -> Situation {
    Situation::new("success", vec![text("An answer."), text("Another answer.")])
}
