//! What an agent may do: rules, profiles, approvals, seen from a session with a scripted model.

mod review;
mod secrets;

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_agent::{AgentTool, BoxFuture, FnTool, ToolOutput};
use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::extension::{Dialog, DialogAnswer, Ui};
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest, Approver};
use pi_coding_agent::session::{AgentSession, BashError, BashOptions, PromptOptions};
use pi_coding_agent::{
    AgentOptions, CustomModel, NotCreated, SessionSelector, create_agent_session,
};
use pi_protocol::{AgentMessage, Message, Tool, UserBlock};
use serde_json::{Map, Value, json};

use crate::scratch::{Scratch, link};

/// Says what was prepared, and keeps what it was asked.
#[derive(Default)]
struct Prepared {
    answers: Mutex<VecDeque<ApprovalDecision>>,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl Prepared {
    fn with(answers: impl IntoIterator<Item = ApprovalDecision>) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(Self { answers, asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<ApprovalRequest> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Approver for Prepared {
    fn decide<'a>(&'a self, question: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        self.asked.lock().unwrap().push(question.clone());
        let answer = self.answers.lock().unwrap().pop_front().expect("a prepared answer");
        Box::pin(std::future::ready(answer))
    }
}

/// A project, its rules and a model that calls tools.
struct Scene {
    scratch: Scratch,
    model: Faux,
    settings: Map<String, Value>,
    approver: Option<Arc<dyn Approver>>,
    ui: Option<Arc<dyn Ui>>,
    tools: Vec<Arc<dyn AgentTool>>,
    trusted: Option<bool>,
    system: bool,
}

impl Scene {
    fn new(guard: Value, rules: &str) -> Self {
        let scratch = Scratch::new();
        if !rules.is_empty() {
            scratch.write("home/.pi/agent/rules/mine.toml", rules);
        }
        let settings = Map::from_iter([("guard".to_owned(), guard)]);
        let (approver, ui, tools) = (None, None, Vec::new());
        Self {
            scratch,
            model: Faux::new(),
            settings,
            approver,
            ui,
            tools,
            trusted: None,
            system: false,
        }
    }

    fn asking(self, approver: &Arc<Prepared>) -> Self {
        let approver: Arc<dyn Approver> = approver.clone();
        Self { approver: Some(approver), ..self }
    }

    fn options(&self) -> AgentOptions {
        let mut environment = self.scratch.environment("home/proj");
        let path = ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned());
        environment.variables = Arc::new(BTreeMap::from([path]));
        environment.system_directory = self.system.then(|| self.scratch.path("etc"));
        let mut options = AgentOptions::new(environment);
        options.session = SessionSelector::New;
        options.custom_model =
            Some(CustomModel::new(Arc::new(self.model.clone()), Arc::new(Faux::model())));
        options.checkpoints = false;
        options.settings = self.settings.clone();
        options.approver.clone_from(&self.approver);
        options.custom_tools.clone_from(&self.tools);
        options.approve = self.trusted;
        options.ui = self.ui.clone().unwrap_or(options.ui);
        options.tools.choice = Some(pi_coding_agent::ToolChoice::Only(vec!["*".to_owned()]));
        options
    }

    async fn session(&self) -> AgentSession {
        create_agent_session(self.options()).await.unwrap().runtime.session()
    }

    async fn refusal(&self) -> NotCreated {
        create_agent_session(self.options()).await.unwrap_err()
    }

    /// Lets the model call a tool; what the result says, and whether it is an error.
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
async fn without_rules_everything_runs_and_nothing_is_said_about_it() {
    let scene = Scene::new(json!({}), "");
    let session = scene.session().await;
    for command in
        ["X=echo; $X one", "eval 'echo one'", "sh -c 'echo one'", "touch new && echo one"]
    {
        let (text, failed) = scene.bash(&session, command).await;
        assert!(text.contains("one") && !failed, "{command}: {text}");
    }
    assert!(session.guard().unwrap().status().is_none());
    let file = fs::read_to_string(session.file().unwrap()).unwrap();
    assert!(!file.contains("guard"), "{file}");
}

#[tokio::test]
async fn the_seven_spellings_are_refused_with_the_rule_and_its_reason() {
    let scene = Scene::new(json!({}), FORBID_CAT);
    scene.scratch.write("home/proj/a.txt", "the content");
    let session = scene.session().await;
    for command in [
        "cat a.txt",
        "/bin/cat a.txt",
        "cat a.txt 2>/dev/null",
        "echo $(cat a.txt)",
        "bash -c \"cat a.txt\"",
        "head -1 <(cat a.txt)",
        "X=cat; $X a.txt",
    ] {
        let (text, failed) = scene.bash(&session, command).await;
        assert!(failed && !text.contains("the content"), "{command}: {text}");
        assert!(text.contains("mine.toml:2"), "{command}: {text}");
    }
    let (text, _) = scene.bash(&session, "cat a.txt").await;
    assert!(text.contains("Use the tool read."), "{text}");
    let (text, failed) = scene.call(&session, "read", json!({"path": "a.txt"})).await;
    assert!(text.contains("the content") && !failed);
}

#[tokio::test]
async fn what_is_asked_with_nobody_there_does_not_happen_and_the_reason_says_so() {
    for (guard, reason) in [
        (json!({"profile": "careful"}), "nobody is here"),
        (json!({"profile": "careful", "approval": "never"}), "`never`"),
    ] {
        let scene = Scene::new(guard, "");
        let session = scene.session().await;
        let (text, failed) = scene.bash(&session, "touch made").await;
        assert!(failed && text.contains(reason), "{text}");
        assert!(!scene.scratch.path("home/proj/made").exists());
        let (text, failed) =
            scene.call(&session, "write", json!({"path": "made", "content": "x"})).await;
        assert!(failed && text.contains(reason), "{text}");
        assert!(!scene.scratch.path("home/proj/made").exists());
        // What is known to be safe needs no approval.
        let (text, failed) = scene.bash(&session, "echo hello | wc -c").await;
        assert!(!failed && text.contains('6'), "{text}");
    }
}

#[tokio::test]
async fn once_is_once_and_a_session_is_what_was_shown() {
    let no = || ApprovalDecision::Deny { reason: None };
    let approver = Prepared::with([ApprovalDecision::Once, no(), ApprovalDecision::Session, no()]);
    let scene = Scene::new(json!({"profile": "careful"}), "").asking(&approver);
    let session = scene.session().await;
    let ran = |name: &str| scene.scratch.path("home/proj").join(name).exists();

    assert!(!scene.bash(&session, "mkdir one").await.1 && ran("one"));
    let (text, failed) = scene.bash(&session, "mkdir two").await;
    assert!(failed && text.contains("said no") && !ran("two"), "{text}");
    assert!(!scene.bash(&session, "mkdir three").await.1 && ran("three"));
    // The same beginning: not asked. Another one: asked, and refused.
    assert!(!scene.bash(&session, "mkdir -p four && mkdir five").await.1 && ran("five"));
    assert!(scene.bash(&session, "rmdir four").await.1 && ran("four"));

    let asked = approver.asked();
    assert_eq!(asked.len(), 4);
    let shown: Vec<String> = asked[2].remembered.iter().map(|scope| scope.describe()).collect();
    assert_eq!(shown, ["commands that begin with `mkdir`"]);
    // A question can be sent elsewhere.
    let sent = serde_json::to_string(&asked[2]).unwrap();
    assert_eq!(serde_json::from_str::<ApprovalRequest>(&sent).unwrap(), asked[2]);
    let given = session.guard().unwrap().approvals().given();
    let kept: Vec<pi_guard::policy::Scope> =
        serde_json::from_str(&serde_json::to_string(&given).unwrap()).unwrap();
    assert_eq!(kept, given);
}

#[tokio::test]
async fn files_are_asked_about_by_directory_and_protected_ones_each() {
    let approver =
        Prepared::with([ApprovalDecision::Session, ApprovalDecision::Deny { reason: None }]);
    let scene = Scene::new(json!({"profile": "careful"}), "").asking(&approver);
    let session = scene.session().await;
    for path in ["a.txt", "deep/b.txt"] {
        let (text, failed) =
            scene.call(&session, "write", json!({"path": path, "content": "x"})).await;
        assert!(!failed, "{text}");
    }
    let (text, failed) = scene
        .call(&session, "write", json!({"path": ".git/hooks/pre-commit", "content": "x"}))
        .await;
    assert!(failed, "{text}");
    assert_eq!(approver.asked().len(), 2);
}

#[tokio::test]
async fn always_proposes_a_rule_keeps_it_and_never_for_interpreters() {
    let approver = Prepared::with([ApprovalDecision::Always, ApprovalDecision::Once]);
    let scene = Scene::new(json!({"profile": "careful"}), "").asking(&approver);
    let session = scene.session().await;
    let (text, failed) = scene.bash(&session, "mkdir one").await;
    assert!(!failed, "{text}");
    let rules =
        fs::read_to_string(scene.scratch.path("home/.pi/agent/rules/approved.toml")).unwrap();
    assert!(rules.contains("prefix = [\"mkdir\"]"), "{rules}");
    let (_, failed) = scene.bash(&session, "python3 -c 'print(1)' || true").await;
    assert!(!failed);
    let asked = approver.asked();
    assert!(asked[0].rule.as_ref().unwrap().contains("mkdir"));
    assert_eq!(asked[1].rule, None);
    // The rule counts in the next session.
    let next = Scene { approver: None, ..scene };
    let session = next.session().await;
    assert!(!next.bash(&session, "mkdir two").await.1);
}

#[tokio::test]
async fn a_rule_that_asks_is_asked_also_without_a_profile_and_proposes_nothing() {
    let rules = "[[command]]\nprefix = [\"git\", \"push\"]\ndecision = \"ask\"\n";
    let reason = Some("Push to the other remote.".to_owned());
    let approver = Prepared::with([ApprovalDecision::Deny { reason }]);
    let scene = Scene::new(json!({}), rules).asking(&approver);
    let session = scene.session().await;
    let (text, failed) = scene.bash(&session, "git push origin main").await;
    assert!(failed && text.contains("Push to the other remote."), "{text}");
    assert_eq!(approver.asked()[0].rule, None);
}

#[tokio::test]
async fn parallel_calls_are_asked_about_one_by_one_and_a_yes_counts_for_the_next() {
    let approver = Prepared::with([ApprovalDecision::Session]);
    let scene = Scene::new(json!({"profile": "careful"}), "").asking(&approver);
    let session = scene.session().await;
    let reply = (0..4).fold(Reply::new(), |reply, n| {
        reply.tool_call("bash", &json!({"command": format!("mkdir d{n}")}))
    });
    scene.model.push(reply);
    scene.model.push(Reply::new().text("Done."));
    session.prompt("Go", PromptOptions::default()).await.unwrap();
    assert_eq!(approver.asked().len(), 1);
    assert!((0..4).all(|n| scene.scratch.path(&format!("home/proj/d{n}")).is_dir()));
}

#[tokio::test]
async fn an_abort_ends_a_question() {
    struct Silent(tokio::sync::Notify);
    impl Approver for Silent {
        fn decide<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
            self.0.notify_one();
            Box::pin(std::future::pending())
        }
    }
    let silent = Arc::new(Silent(tokio::sync::Notify::new()));
    let approver: Arc<dyn Approver> = silent.clone();
    let scene = Scene { approver: Some(approver), ..Scene::new(json!({"profile": "careful"}), "") };
    let session = scene.session().await;
    scene.model.push(Reply::new().tool_call("bash", &json!({"command": "mkdir x"})));
    let prompt = session.prompt("Go", PromptOptions::default());
    let abort = async {
        silent.0.notified().await;
        session.abort().await;
    };
    let (ended, ()) = tokio::join!(prompt, abort);
    ended.unwrap();
    assert!(!scene.scratch.path("home/proj/x").exists());
}

#[tokio::test]
async fn rules_on_files_hold_by_every_name_and_in_searches() {
    let rules = r#"
[[path]]
paths = ["**/.env", "~/private"]
access = "any"
decision = "forbid"
"#;
    let scene = Scene::new(json!({}), rules);
    scene.scratch.write("home/proj/.env", "KEY=findme\n");
    scene.scratch.write("home/proj/other.txt", "findme too\n");
    scene.scratch.write("home/private/x", "findme as well\n");
    link(".env", &scene.scratch.path("home/proj/link.txt"));
    let session = scene.session().await;
    for path in [".env", "./x/../.env", "link.txt", "~/private/x", "../private/x"] {
        let (text, failed) = scene.call(&session, "read", json!({"path": path})).await;
        assert!(failed && !text.contains("findme"), "{path}: {text}");
        let (text, failed) =
            scene.call(&session, "write", json!({"path": path, "content": "x"})).await;
        assert!(failed, "{path}: {text}");
    }
    let (text, _) = scene.call(&session, "grep", json!({"pattern": "findme"})).await;
    assert!(text.contains("other.txt") && !text.contains("KEY="), "{text}");
    let (text, failed) = scene.bash(&session, "cat .env").await;
    assert!(failed && !text.contains("findme"), "{text}");
    let (text, _) = scene.call(&session, "ls", json!({})).await;
    assert!(text.contains(".env"), "{text}");
}

fn other_tool() -> Arc<dyn AgentTool> {
    let declaration = Tool {
        name: "deploy".to_owned(),
        description: "Deploys.".to_owned(),
        parameters: json!({"type": "object", "properties": {"to": {"type": "string"}}}),
        ..Tool::default()
    };
    Arc::new(FnTool::new(declaration, |_| async { Ok(ToolOutput::text("deployed")) }))
}

#[tokio::test]
async fn tools_of_others_follow_rules_on_their_name_and_arguments() {
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
        (json!({"profile": "careful"}), "staging", "nobody is here"),
    ] {
        let scene = Scene { tools: vec![other_tool()], ..Scene::new(guard.clone(), rules) };
        let session = scene.session().await;
        let (text, _) = scene.call(&session, "deploy", json!({"to": to})).await;
        assert!(text.contains(expected), "{guard} {to}: {text}");
    }
}

#[tokio::test]
async fn commands_of_the_user_need_no_approval_but_obey_what_is_forbidden() {
    let scene = Scene::new(json!({"profile": "careful"}), FORBID_CAT);
    let session = scene.session().await;
    let run = |command: &'static str| {
        let session = session.clone();
        async move { session.execute_bash(command, BashOptions::default()).await }
    };
    assert_eq!(run("mkdir mine && echo yes").await.unwrap().output.trim(), "yes");
    assert!(matches!(run("cat x").await, Err(BashError::Failed(text)) if text.contains("read")));
}

#[tokio::test]
async fn rules_that_cannot_be_used_end_everything_with_file_and_line() {
    for (rules, expected) in [
        ("[[command]]\nprefix = [\"ls\"]\ndecision = \"alow\"\n", "mine.toml:3"),
        (
            "[[command]]\nprefix = [\"ls\"]\ndecision = \"allow\"\nmatch = [\"cat x\"]\n",
            "mine.toml:4",
        ),
    ] {
        let refused = Scene::new(json!({}), rules).refusal().await;
        let text = refused.error.to_string();
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn settings_that_are_not_understood_end_everything() {
    for guard in [
        json!({"profile": "unatended"}),
        json!({"sandbox": true}),
        json!({"profil": "careful"}),
        json!("careful"),
    ] {
        let refused = Scene::new(guard.clone(), "").refusal().await;
        assert!(refused.error.to_string().contains("guard"), "{guard}: {}", refused.error);
        // The same in the user's file.
        let scene = Scene { settings: Map::new(), ..Scene::new(json!({}), "") };
        let file = json!({"guard": guard}).to_string();
        scene.scratch.write("home/.pi/agent/settings.json", file);
        assert!(scene.refusal().await.error.to_string().contains("guard"));
    }
    let scene = Scene { settings: Map::new(), ..Scene::new(json!({}), "") };
    scene
        .scratch
        .write("home/.pi/agent/settings.json", "{\"guard\": {\"profile\": \"careful\"},,}");
    scene.refusal().await;
}

#[tokio::test]
async fn a_project_says_nothing_about_the_guard_and_its_rules_count_if_it_is_trusted() {
    for (trusted, refused) in [(Some(true), true), (Some(false), false), (None, false)] {
        let scene = Scene { trusted, ..Scene::new(json!({}), "") };
        let project = json!({"guard": {"profile": "careful"}}).to_string();
        scene.scratch.write("home/proj/.pi/settings.json", project);
        scene.scratch.write("home/proj/.pi/rules/ours.toml", FORBID_CAT);
        let session = scene.session().await;
        assert_eq!(scene.bash(&session, "cat /dev/null").await.1, refused, "{trusted:?}");
        assert!(!scene.bash(&session, "mkdir made").await.1);
    }
}

#[tokio::test]
async fn the_strictest_layer_wins_and_the_administrator_is_one() {
    let allow = "[[command]]\nprefix = [\"cat\"]\ndecision = \"allow\"\n";
    for directory in ["etc/rules", "etc/administrator"] {
        let scene = Scene { system: true, ..Scene::new(json!({}), allow) };
        scene.scratch.write(&format!("{directory}/machine.toml"), FORBID_CAT);
        let session = scene.session().await;
        let (text, failed) = scene.bash(&session, "cat /dev/null").await;
        assert!(failed && text.contains("machine.toml:"), "{text}");
    }
}

#[tokio::test]
async fn the_user_is_asked_through_the_interface() {
    /// Chooses what begins so, and says why.
    struct Person(&'static str, Mutex<Vec<String>>);
    impl Ui for Person {
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
        ("No", false, "said no"),
        ("No, and say why", false, "Use the other one."),
        ("nothing of it", false, "said no"),
    ] {
        let person = Arc::new(Person(choice, Mutex::default()));
        let ui: Arc<dyn Ui> = person.clone();
        let scene = Scene { ui: Some(ui), ..Scene::new(json!({"profile": "careful"}), "") };
        let session = scene.session().await;
        let (said, failed) = scene.bash(&session, "mkdir made").await;
        assert_eq!(!failed, runs, "{choice}: {said}");
        assert!(said.contains(text), "{choice}: {said}");
        let shown = person.1.lock().unwrap().join("\n");
        if choice == "No" {
            insta::assert_snapshot!("a_question", shown);
        }
    }
}
