//! The guard of a session with a scripted model: rules, profiles, approvals.

mod review;
mod secrets;
mod suspension;

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_agent::{AgentTool, BoxFuture, FnTool, ToolOutput};
use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::extension::{Dialog, DialogAnswer, Handlers, ToolCall, ToolDecision, Ui};
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest, Approver, Outcome};
use pi_coding_agent::session::{AgentSession, BashError, BashOptions, PromptOptions};
use pi_coding_agent::{
    AgentOptions, CustomModel, NotCreated, SessionSelector, create_agent_session,
};
use pi_guard::confine::{ConfinementLevel, Machine};
use pi_protocol::{AgentMessage, Message, Tool, UserBlock};
use serde_json::{Map, Value, json};

use crate::env::{TestEnv, link};

/// Gives prepared decisions and records the requests.
#[derive(Default)]
struct Prepared {
    decisions: Mutex<VecDeque<ApprovalDecision>>,
    requests: Mutex<Vec<ApprovalRequest>>,
}

impl Prepared {
    fn with(decisions: impl IntoIterator<Item = ApprovalDecision>) -> Arc<Self> {
        let decisions = Mutex::new(decisions.into_iter().collect());
        Arc::new(Self { decisions, requests: Mutex::default() })
    }

    fn requests(&self) -> Vec<ApprovalRequest> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

impl Approver for Prepared {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        self.requests.lock().unwrap().push(request.clone());
        let decision = self.decisions.lock().unwrap().pop_front().expect("a prepared decision");
        Box::pin(std::future::ready(decision))
    }
}

/// A project with guard settings and rules, and a model that calls tools.
struct GuardTest {
    env: TestEnv,
    model: Faux,
    settings: Map<String, Value>,
    approver: Option<Arc<dyn Approver>>,
    ui: Option<Arc<dyn Ui>>,
    tools: Vec<Arc<dyn AgentTool>>,
    trusted: Option<bool>,
    system: bool,
}

impl GuardTest {
    fn new(guard: Value, rules: &str) -> Self {
        let env = TestEnv::new();
        if !rules.is_empty() {
            env.write("home/.pi/agent/rules/mine.toml", rules);
        }
        let settings = Map::from_iter([("guard".to_owned(), guard)]);
        let (approver, ui, tools) = (None, None, Vec::new());
        Self {
            env,
            model: Faux::new(),
            settings,
            approver,
            ui,
            tools,
            trusted: None,
            system: false,
        }
    }

    fn approver(self, approver: &Arc<Prepared>) -> Self {
        let approver: Arc<dyn Approver> = approver.clone();
        Self { approver: Some(approver), ..self }
    }

    fn options(&self) -> AgentOptions {
        let mut environment = self.env.environment("home/proj");
        let path = ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned());
        environment.variables = Arc::new(BTreeMap::from([path]));
        environment.system_directory = self.system.then(|| self.env.path("etc"));
        let mut options = AgentOptions::new(environment);
        options.session.selector = SessionSelector::New;
        options.model.custom =
            Some(CustomModel::new(Arc::new(self.model.clone()), Arc::new(Faux::model())));
        options.guard.checkpoints = false;
        options.project.set_overrides(self.settings.clone());
        options.guard.approver.clone_from(&self.approver);
        options.tools.custom.clone_from(&self.tools);
        options.project.set_approval(self.trusted);
        options.ui = self.ui.clone().unwrap_or(options.ui);
        options.tools.selection.choice =
            Some(pi_coding_agent::ToolChoice::Only(vec!["*".to_owned()]));
        options
    }

    async fn session(&self) -> AgentSession {
        create_agent_session(self.options()).await.unwrap().runtime.session()
    }

    async fn refusal(&self) -> NotCreated {
        create_agent_session(self.options()).await.unwrap_err()
    }

    /// Lets the model call a tool. Returns the text of the result, and true if it is an error.
    async fn call(&self, session: &AgentSession, tool: &str, arguments: Value) -> (String, bool) {
        self.model.push(Reply::new().tool_call(tool, &arguments));
        self.model.push(Reply::new().text("Done."));
        session.prompt("Go", PromptOptions::default()).await.unwrap();
        let messages = session.messages();
        let result = messages.iter().rev().find_map(|message| match message {
            AgentMessage::Llm(Message::ToolResult(result)) => Some(Arc::clone(result)),
            _ => None,
        });
        let result = result.unwrap();
        let texts: Vec<&str> = result.content.iter().filter_map(UserBlock::as_text).collect();
        (texts.join("\n"), result.is_error)
    }

    async fn bash(&self, session: &AgentSession, command: &str) -> (String, bool) {
        self.call(session, "bash", json!({"command": command})).await
    }
}

const FORBID_CAT: &str = r#"
[[command]]
prefix = ["cat"]
decision = "forbid"
justification = "Use the tool read."
"#;

#[tokio::test]
async fn without_rules_everything_runs_without_a_notice() {
    let test = GuardTest::new(json!({}), "");
    let session = test.session().await;
    for command in
        ["X=echo; $X one", "eval 'echo one'", "sh -c 'echo one'", "touch new && echo one"]
    {
        let (text, failed) = test.bash(&session, command).await;
        assert!(text.contains("one") && !failed, "{command}: {text}");
    }
    assert!(session.guard().unwrap().status().is_none());
    let file = fs::read_to_string(session.file().unwrap()).unwrap();
    assert!(!file.contains("guard"), "{file}");
}

#[tokio::test]
async fn a_forbidden_command_is_refused_in_seven_spellings() {
    let test = GuardTest::new(json!({}), FORBID_CAT);
    test.env.write("home/proj/a.txt", "the content");
    let session = test.session().await;
    for command in [
        "cat a.txt",
        "/bin/cat a.txt",
        "cat a.txt 2>/dev/null",
        "echo $(cat a.txt)",
        "bash -c \"cat a.txt\"",
        "head -1 <(cat a.txt)",
        "X=cat; $X a.txt",
    ] {
        let (text, failed) = test.bash(&session, command).await;
        assert!(failed && !text.contains("the content"), "{command}: {text}");
        assert!(text.contains("mine.toml:2"), "{command}: {text}");
    }
    let (text, _) = test.bash(&session, "cat a.txt").await;
    assert!(text.contains("Use the tool read."), "{text}");
    let (text, failed) = test.call(&session, "read", json!({"path": "a.txt"})).await;
    assert!(text.contains("the content") && !failed);
}

#[tokio::test]
async fn actions_that_need_approval_are_refused_without_an_approver() {
    for (guard, reason) in [
        (json!({"profile": "careful"}), "no one can approve it"),
        (json!({"profile": "careful", "approval": "never"}), "`never`"),
    ] {
        let test = GuardTest::new(guard, "");
        let session = test.session().await;
        let (text, failed) = test.bash(&session, "touch made").await;
        assert!(failed && text.contains(reason), "{text}");
        assert!(!test.env.path("home/proj/made").exists());
        let (text, failed) =
            test.call(&session, "write", json!({"path": "made", "content": "x"})).await;
        assert!(failed && text.contains(reason), "{text}");
        assert!(!test.env.path("home/proj/made").exists());
        // A command that is known to be safe needs no approval, but the sandbox, if there is one.
        let judgment = session.guard().unwrap().judge_command("echo hello | wc -c");
        let expected = match Machine::detect().level() {
            ConfinementLevel::None => Outcome::Refuse,
            _ => Outcome::RunConfined,
        };
        assert_eq!(judgment.outcome, expected);
    }
}

#[tokio::test]
async fn approvals_hold_once_or_for_the_shown_scope() {
    let deny = || ApprovalDecision::Deny { reason: None };
    let approver =
        Prepared::with([ApprovalDecision::Once, deny(), ApprovalDecision::Session, deny()]);
    let test = GuardTest::new(json!({"profile": "careful"}), "").approver(&approver);
    let session = test.session().await;
    let ran = |name: &str| test.env.path("home/proj").join(name).exists();

    assert!(!test.bash(&session, "mkdir one").await.1 && ran("one"));
    let (text, failed) = test.bash(&session, "mkdir two").await;
    assert!(failed && text.contains("the user denied it") && !ran("two"), "{text}");
    assert!(!test.bash(&session, "mkdir three").await.1 && ran("three"));
    // The same prefix needs no approval; another one does and is denied.
    assert!(!test.bash(&session, "mkdir -p four && mkdir five").await.1 && ran("five"));
    assert!(test.bash(&session, "rmdir four").await.1 && ran("four"));

    let requests = approver.requests();
    assert_eq!(requests.len(), 4);
    let shown: Vec<String> = requests[2].remembered.iter().map(|scope| scope.describe()).collect();
    assert_eq!(shown, ["commands that begin with `mkdir`"]);
    // Requests and approvals survive serialization.
    let sent = serde_json::to_string(&requests[2]).unwrap();
    assert_eq!(serde_json::from_str::<ApprovalRequest>(&sent).unwrap(), requests[2]);
    let approved = session.guard().unwrap().approvals().scopes();
    let restored: Vec<pi_guard::policy::Scope> =
        serde_json::from_str(&serde_json::to_string(&approved).unwrap()).unwrap();
    assert_eq!(restored, approved);
}

#[tokio::test]
async fn an_approval_covers_the_directory_but_no_protected_file() {
    let approver =
        Prepared::with([ApprovalDecision::Session, ApprovalDecision::Deny { reason: None }]);
    let test = GuardTest::new(json!({"profile": "careful"}), "").approver(&approver);
    let session = test.session().await;
    for path in ["a.txt", "deep/b.txt"] {
        let (text, failed) =
            test.call(&session, "write", json!({"path": path, "content": "x"})).await;
        assert!(!failed, "{text}");
    }
    let (text, failed) = test
        .call(&session, "write", json!({"path": ".git/hooks/pre-commit", "content": "x"}))
        .await;
    assert!(failed, "{text}");
    assert_eq!(approver.requests().len(), 2);
}

#[tokio::test]
async fn a_lasting_approval_saves_a_rule_except_for_interpreters() {
    let approver = Prepared::with([ApprovalDecision::Always, ApprovalDecision::Once]);
    let test = GuardTest::new(json!({"profile": "careful"}), "").approver(&approver);
    let session = test.session().await;
    let (text, failed) = test.bash(&session, "mkdir one").await;
    assert!(!failed, "{text}");
    let rules = fs::read_to_string(test.env.path("home/.pi/agent/rules/approved.toml")).unwrap();
    assert!(rules.contains("prefix = [\"mkdir\"]"), "{rules}");
    let (_, failed) = test.bash(&session, "python3 -c 'print(1)' || true").await;
    assert!(!failed);
    let requests = approver.requests();
    assert!(requests[0].rule.as_ref().unwrap().contains("mkdir"));
    assert_eq!(requests[1].rule, None);
    // The rule applies to the next session.
    let next = GuardTest { approver: None, ..test };
    let session = next.session().await;
    assert!(!next.bash(&session, "mkdir two").await.1);
}

#[tokio::test]
async fn a_rule_that_asks_applies_in_explore_and_offers_no_lasting_approval() {
    let rules = "[[command]]\nprefix = [\"git\", \"push\"]\ndecision = \"ask\"\n";
    let reason = Some("Push to the other remote.".to_owned());
    let approver = Prepared::with([ApprovalDecision::Deny { reason }]);
    let test = GuardTest::new(json!({}), rules).approver(&approver);
    let session = test.session().await;
    let (text, failed) = test.bash(&session, "git push origin main").await;
    assert!(failed && text.contains("Push to the other remote."), "{text}");
    assert_eq!(approver.requests()[0].rule, None);
}

#[tokio::test]
async fn parallel_calls_ask_one_by_one_and_share_an_approval() {
    let approver = Prepared::with([ApprovalDecision::Session]);
    let test = GuardTest::new(json!({"profile": "careful"}), "").approver(&approver);
    let session = test.session().await;
    let reply = (0..4).fold(Reply::new(), |reply, n| {
        reply.tool_call("bash", &json!({"command": format!("mkdir d{n}")}))
    });
    test.model.push(reply);
    test.model.push(Reply::new().text("Done."));
    session.prompt("Go", PromptOptions::default()).await.unwrap();
    assert_eq!(approver.requests().len(), 1);
    assert!((0..4).all(|n| test.env.path(&format!("home/proj/d{n}")).is_dir()));
}

#[tokio::test]
async fn an_abort_cancels_a_pending_approval() {
    struct Silent(tokio::sync::Notify);
    impl Approver for Silent {
        fn decide<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
            self.0.notify_one();
            Box::pin(std::future::pending())
        }
    }
    let silent = Arc::new(Silent(tokio::sync::Notify::new()));
    let approver: Arc<dyn Approver> = silent.clone();
    let test =
        GuardTest { approver: Some(approver), ..GuardTest::new(json!({"profile": "careful"}), "") };
    let session = test.session().await;
    test.model.push(Reply::new().tool_call("bash", &json!({"command": "mkdir x"})));
    let prompt = session.prompt("Go", PromptOptions::default());
    let abort = async {
        silent.0.notified().await;
        session.abort().await;
    };
    let (ended, ()) = tokio::join!(prompt, abort);
    ended.unwrap();
    assert!(!test.env.path("home/proj/x").exists());
}

#[tokio::test]
async fn rules_on_files_apply_to_every_name_and_to_searches() {
    let rules = r#"
[[path]]
paths = ["**/.env", "~/private"]
access = "any"
decision = "forbid"
"#;
    let test = GuardTest::new(json!({}), rules);
    test.env.write("home/proj/.env", "KEY=findme\n");
    test.env.write("home/proj/other.txt", "findme too\n");
    test.env.write("home/private/x", "findme as well\n");
    link(".env", &test.env.path("home/proj/link.txt"));
    let session = test.session().await;
    for path in [".env", "./x/../.env", "link.txt", "~/private/x", "../private/x"] {
        let (text, failed) = test.call(&session, "read", json!({"path": path})).await;
        assert!(failed && !text.contains("findme"), "{path}: {text}");
        let (text, failed) =
            test.call(&session, "write", json!({"path": path, "content": "x"})).await;
        assert!(failed, "{path}: {text}");
    }
    let (text, _) = test.call(&session, "grep", json!({"pattern": "findme"})).await;
    assert!(text.contains("other.txt") && !text.contains("KEY="), "{text}");
    let (text, failed) = test.bash(&session, "cat .env").await;
    assert!(failed && !text.contains("findme"), "{text}");
    let (text, _) = test.call(&session, "ls", json!({})).await;
    assert!(text.contains(".env"), "{text}");
}

fn external_tool() -> Arc<dyn AgentTool> {
    let declaration = Tool {
        name: "deploy".to_owned(),
        description: "Deploys.".to_owned(),
        parameters: json!({"type": "object", "properties": {"to": {"type": "string"}}}),
        ..Tool::default()
    };
    Arc::new(FnTool::new(declaration, |_| async { Ok(ToolOutput::text("deployed")) }))
}

#[tokio::test]
async fn external_tools_follow_rules_on_their_name_and_arguments() {
    let rules = r#"
[[tool]]
name = "dep*"
arguments = { to = "test*" }
decision = "allow"
[[tool]]
name = "deploy"
arguments = { to = "production" }
decision = "forbid"
justification = "Only people deploy."
"#;
    for (guard, to, expected) in [
        (json!({}), "staging", "deployed"),
        (json!({}), "production", "Only people deploy."),
        (json!({"profile": "careful"}), "test-1", "deployed"),
        (json!({"profile": "careful"}), "staging", "no one can approve it"),
    ] {
        let test =
            GuardTest { tools: vec![external_tool()], ..GuardTest::new(guard.clone(), rules) };
        let session = test.session().await;
        let (text, _) = test.call(&session, "deploy", json!({"to": to})).await;
        assert!(text.contains(expected), "{guard} {to}: {text}");
    }
}

#[tokio::test]
async fn user_commands_need_no_approval_but_obey_forbidding_rules() {
    let test = GuardTest::new(json!({"profile": "careful"}), FORBID_CAT);
    let session = test.session().await;
    let run = |command: &'static str| {
        let session = session.clone();
        async move { session.execute_bash(command, BashOptions::default()).await }
    };
    assert_eq!(run("mkdir mine && echo yes").await.unwrap().output.trim(), "yes");
    assert!(matches!(run("cat x").await, Err(BashError::Failed(text)) if text.contains("read")));
}

#[tokio::test]
async fn an_invalid_rule_file_prevents_the_session_with_file_and_line() {
    for (rules, expected) in [
        ("[[command]]\nprefix = [\"ls\"]\ndecision = \"alow\"\n", "mine.toml:3"),
        (
            "[[command]]\nprefix = [\"ls\"]\ndecision = \"allow\"\nmatch = [\"cat x\"]\n",
            "mine.toml:4",
        ),
    ] {
        let refused = GuardTest::new(json!({}), rules).refusal().await;
        let text = refused.error.to_string();
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn invalid_guard_settings_prevent_the_session() {
    for guard in [
        json!({"profile": "unatended"}),
        json!({"sandbox": true}),
        json!({"profil": "careful"}),
        json!("careful"),
    ] {
        let refused = GuardTest::new(guard.clone(), "").refusal().await;
        assert!(refused.error.to_string().contains("guard"), "{guard}: {}", refused.error);
        // The same in the user's file.
        let test = GuardTest { settings: Map::new(), ..GuardTest::new(json!({}), "") };
        let file = json!({"guard": guard}).to_string();
        test.env.write("home/.pi/agent/settings.json", file);
        assert!(test.refusal().await.error.to_string().contains("guard"));
    }
    let test = GuardTest { settings: Map::new(), ..GuardTest::new(json!({}), "") };
    test.env.write("home/.pi/agent/settings.json", "{\"guard\": {\"profile\": \"careful\"},,}");
    test.refusal().await;
}

#[tokio::test]
async fn project_settings_do_not_configure_the_guard_but_rules_of_trusted_projects_apply() {
    for (trusted, refused) in [(Some(true), true), (Some(false), false), (None, false)] {
        let test = GuardTest { trusted, ..GuardTest::new(json!({}), "") };
        let project = json!({"guard": {"profile": "careful"}}).to_string();
        test.env.write("home/proj/.pi/settings.json", project);
        test.env.write("home/proj/.pi/rules/ours.toml", FORBID_CAT);
        let session = test.session().await;
        assert_eq!(test.bash(&session, "cat /dev/null").await.1, refused, "{trusted:?}");
        assert!(!test.bash(&session, "mkdir made").await.1);
    }
}

#[tokio::test]
async fn the_strictest_layer_wins() {
    let allow = "[[command]]\nprefix = [\"cat\"]\ndecision = \"allow\"\n";
    for directory in ["etc/rules", "etc/administrator"] {
        let test = GuardTest { system: true, ..GuardTest::new(json!({}), allow) };
        test.env.write(&format!("{directory}/machine.toml"), FORBID_CAT);
        let session = test.session().await;
        let (text, failed) = test.bash(&session, "cat /dev/null").await;
        assert!(failed && text.contains("machine.toml:"), "{text}");
    }
}

#[tokio::test]
async fn the_user_approves_through_the_ui() {
    /// Selects the option with this prefix.
    struct Selecting(&'static str, Mutex<Vec<String>>);
    impl Ui for Selecting {
        fn is_present(&self) -> bool {
            true
        }
        fn dialog(
            &self,
            dialog: Dialog,
            _: Option<Duration>,
        ) -> BoxFuture<'_, Option<DialogAnswer>> {
            let answer = match dialog {
                Dialog::Select { title, options } => {
                    self.1.lock().unwrap().push(format!("{title}\n{}", options.join("\n")));
                    options.into_iter().find(|option| option.starts_with(self.0))
                }
                _ => Some("Use the other one.".to_owned()),
            };
            Box::pin(std::future::ready(answer.map(DialogAnswer::Text)))
        }
    }
    for (choice, runs, text) in [
        ("Yes, once", true, ""),
        ("Yes, for this session: commands that begin with `mkdir`", true, ""),
        ("Yes, always", true, ""),
        ("No", false, "the user denied it"),
        ("No, and give a reason", false, "Use the other one."),
        ("no such option", false, "the user denied it"),
    ] {
        let selecting = Arc::new(Selecting(choice, Mutex::default()));
        let ui: Arc<dyn Ui> = selecting.clone();
        let test = GuardTest { ui: Some(ui), ..GuardTest::new(json!({"profile": "careful"}), "") };
        let session = test.session().await;
        let (result, failed) = test.bash(&session, "mkdir made").await;
        assert_eq!(!failed, runs, "{choice}: {result}");
        assert!(result.contains(text), "{choice}: {result}");
        let shown = selecting.1.lock().unwrap().join("\n");
        if choice == "No" {
            insta::assert_snapshot!("an_approval_request", shown);
        }
    }
}

/// An extension that answers calls of `bash` by their command.
fn deciding(
    path: &str,
    decide: impl Fn(&str) -> ToolDecision + Clone + Send + Sync + 'static,
) -> Arc<Handlers> {
    Arc::new(Handlers::new(path).on(move |call: ToolCall, _| {
        let command = call.input.get("command").and_then(Value::as_str).unwrap_or_default();
        std::future::ready(Ok(decide(command)))
    }))
}

#[tokio::test]
async fn extensions_ask_for_one_call_and_all_their_reasons_are_shown() {
    let approver = Prepared::with([ApprovalDecision::Once]);
    let test = GuardTest::new(json!({}), "").approver(&approver);
    let mut options = test.options();
    let ask = |by: &'static str| {
        move |command: &str| match command.contains("ask") {
            true => ToolDecision::ask(format!("{by} wants to know"), by),
            false => ToolDecision::allow(),
        }
    };
    let block = |command: &str| match command.contains("block") {
        true => ToolDecision::block("blocked"),
        false => ToolDecision::allow(),
    };
    options.extensions.own = vec![
        deciding("test:first", ask("first")),
        deciding("test:second", ask("second")),
        deciding("test:third", block),
    ];
    let session = create_agent_session(options).await.unwrap().runtime.session();
    let call = async |command: &str| {
        let arguments = json!({"command": command}).to_string();
        test.model.push(Reply::new().raw_tool_call("same-id", "bash", arguments));
        test.model.push(Reply::new().text("Done."));
        session.prompt("Go", PromptOptions::default()).await.unwrap();
        let messages = session.messages();
        let result = messages.iter().rev().find_map(|message| match message {
            AgentMessage::Llm(Message::ToolResult(result)) => result.content[0].as_text(),
            _ => None,
        });
        result.unwrap().to_owned()
    };
    // A later extension blocks the call, so that no approval is requested for it.
    assert_eq!(call("echo ask block").await, "blocked");
    // The demand does not outlive the call: the next one has the same id.
    assert_eq!(call("echo fine").await, "fine\n");
    assert_eq!(approver.requests().len(), 0);
    assert_eq!(call("echo ask").await, "ask\n");
    let requests = approver.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].reasons(),
        ["bash: first wants to know [first]", "bash: second wants to know [second]"]
    );
}

#[tokio::test]
async fn a_call_that_an_extension_asks_about_is_refused_unattended() {
    let guard = json!({"profile": "unattended", "sandbox": "off", "network": "on",
        "require": "none"});
    let rules = "[[command]]\nprefix = [\"echo\"]\ndecision = \"allow\"\n";
    let test = GuardTest::new(guard, rules);
    let mut options = test.options();
    options.extensions.own =
        vec![deciding("test:asking", |_| ToolDecision::ask("is this wise?", "test"))];
    let session = create_agent_session(options).await.unwrap().runtime.session();
    let (text, failed) = test.bash(&session, "echo ran").await;
    assert!(failed && text.contains("bash: is this wise? [test]"), "{text}");
    assert!(text.contains("the approval policy is `never`"), "{text}");
}
