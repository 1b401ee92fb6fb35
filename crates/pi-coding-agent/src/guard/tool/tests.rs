//! Guarded tools that the integration tests cannot build: built-in tools with other effects.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::sync::Mutex;

use pi_agent::{ExecutionMode, FnTool};
use pi_config::SettingsStore;
use pi_guard::policy::{Layer, RuleFile};
use pi_guard::secrets::Secrets;
use pi_protocol::Extent;
use serde_json::json;

use super::*;
use crate::Environment;
use crate::guard::{
    ApprovalDecision, Approvals, Approver, Checkpoints, GuardParts, GuardPlan, RemoteDirectories,
    Walls,
};

/// A workspace with a guard and an approver that gives prepared decisions.
struct TestEnv {
    root: tempfile::TempDir,
    guard: Arc<Guard>,
    workspace: Arc<Workspace>,
    approver: Arc<Prepared>,
}

/// Gives prepared decisions and records the requests.
#[derive(Default)]
struct Prepared {
    decisions: Mutex<VecDeque<ApprovalDecision>>,
    requests: Mutex<Vec<ApprovalRequest>>,
}

impl Approver for Prepared {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        self.requests.lock().unwrap().push(request.clone());
        let decision = self.decisions.lock().unwrap().pop_front();
        let decision = decision.unwrap_or(ApprovalDecision::Deny { reason: None });
        Box::pin(std::future::ready(decision))
    }
}

impl TestEnv {
    /// Creates a guard with the settings of the group `guard` and a rule file.
    fn new(settings: &Value, rules: &str) -> Self {
        Self::with_settings(json!({ "guard": settings }), rules)
    }

    /// Creates a guard with settings and a rule file.
    fn with_settings(settings: Value, rules: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        fs::create_dir_all(real.join("project")).unwrap();
        fs::create_dir_all(real.join("outside")).unwrap();
        let mut environment = Environment::new(real.join("project"), real.join("agent"));
        let variables = [("PATH", "/usr/bin:/bin"), ("TMPDIR", real.to_str().unwrap())];
        environment.variables =
            Arc::new(BTreeMap::from(variables.map(|(name, value)| (name.into(), value.into()))));
        let Value::Object(settings) = settings else { panic!("settings are an object") };
        let store = SettingsStore::in_memory(settings);
        assert!(store.guard_error().is_none());
        let plan = GuardPlan::new(store.settings(), &environment);
        let mut policy = pi_guard::policy::Policy::new(plan.defaults(false));
        policy.add(RuleFile::parse("rules.toml", rules, Layer::User).unwrap());
        let approver = Arc::new(Prepared::default());
        let walls =
            Walls::new(plan, &environment, policy, Approvals::default(), None, Arc::default())
                .unwrap();
        let remote =
            RemoteDirectories { cwd: "/remote/work".into(), home: Some("/remote/home".into()) };
        let guard = Arc::new(Guard::new(GuardParts {
            remote: (!walls.plan.is_local).then_some(remote),
            walls,
            approver: Some(approver.clone()),
            checkpoints: Checkpoints::None,
            announce: None,
            emit_decision: None,
            tap: None,
            secrets: Secrets::default(),
        }));
        let host = guard.host().unwrap().unwrap_or_default();
        let workspace = Workspace::new(Arc::new(host), environment.cwd, None);
        Self { root, guard, workspace: Arc::new(workspace), approver }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn decide(&self, decision: ApprovalDecision) {
        self.approver.decisions.lock().unwrap().push_back(decision);
    }

    fn requests(&self) -> Vec<ApprovalRequest> {
        std::mem::take(&mut self.approver.requests.lock().unwrap())
    }

    async fn call(
        &self,
        tool: impl AgentTool + 'static,
        origin: ToolOrigin,
        arguments: Value,
    ) -> Result<String, String> {
        let tool = Guarded::wrap(Arc::new(tool), &self.guard, &self.workspace, origin);
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let (cancel, updates) = (CancelToken::new(), Updates::new(|_| {}));
        let output = tool.execute(Invocation::new("call", arguments, cancel, updates)).await;
        output.map(|output| text(&output)).map_err(|error| error.to_string())
    }
}

/// A tool that declares these effects and returns `ran`.
fn tool(effects: Effects) -> FnTool {
    let declaration = Tool::new("dummy", "Does something.", json!({"type": "object"}));
    FnTool::new(declaration, |_| async { Ok(ToolOutput::text("ran")) })
        .effects(move |_| effects.clone())
}

/// A rule file that restricts something else.
const UNRELATED_RULE: &str = "[[command]]\nprefix = [\"git\", \"push\"]\ndecision = \"forbid\"\n";

#[tokio::test]
async fn a_builtin_tool_with_undeclared_effects_is_asked_about_in_careful() {
    let env = TestEnv::new(&json!({"profile": "careful"}), "");
    let undeclared = || tool(Effects::unknown());
    let error = env.call(undeclared(), ToolOrigin::Builtin, json!({})).await.unwrap_err();
    assert!(error.contains("the user denied it"), "{error}");
    let requests = env.requests();
    assert_eq!(requests[0].reasons(), ["dummy: its effects are not declared"]);
    env.decide(ApprovalDecision::Session);
    for _ in 0..2 {
        assert_eq!(env.call(undeclared(), ToolOrigin::Builtin, json!({})).await.unwrap(), "ran");
    }
    assert_eq!(env.requests().len(), 1);
}

#[tokio::test]
async fn a_builtin_tool_with_undeclared_effects_is_refused_unattended() {
    let settings = json!({"profile": "unattended", "sandbox": "off", "network": "on",
        "require": "none"});
    let env = TestEnv::new(&settings, "");
    let error = env.call(tool(Effects::unknown()), ToolOrigin::Builtin, json!({})).await;
    let error = error.unwrap_err();
    assert!(error.contains("its effects are not declared"), "{error}");
    assert!(error.contains("the approval policy is `never`"), "{error}");
    assert!(env.requests().is_empty());
}

#[tokio::test]
async fn a_builtin_tool_with_undeclared_effects_is_confined_by_any_restricting_rule() {
    let undeclared = || tool(Effects::unknown());
    let env = TestEnv::new(&json!({}), "");
    assert_eq!(env.call(undeclared(), ToolOrigin::Builtin, json!({})).await.unwrap(), "ran");
    // Not in the list of built-in tools, so it cannot be rebuilt for the sandbox.
    let env = TestEnv::new(&json!({}), UNRELATED_RULE);
    env.call(undeclared(), ToolOrigin::Builtin, json!({})).await.unwrap_err();
    assert_eq!(env.call(undeclared(), ToolOrigin::External, json!({})).await.unwrap(), "ran");
    // A rule for the tool decides instead.
    let rule = format!("{UNRELATED_RULE}\n[[tool]]\nname = \"dummy\"\ndecision = \"allow\"\n");
    let env = TestEnv::new(&json!({}), &rule);
    assert_eq!(env.call(undeclared(), ToolOrigin::Builtin, json!({})).await.unwrap(), "ran");
}

#[tokio::test]
async fn a_builtin_tool_without_effects_runs_in_every_profile() {
    for profile in ["explore", "careful", "unattended"] {
        let settings =
            json!({"profile": profile, "sandbox": "off", "network": "on", "require": "none"});
        let env = TestEnv::new(&settings, UNRELATED_RULE);
        let ran = env.call(tool(Effects::none()), ToolOrigin::Builtin, json!({})).await;
        assert_eq!(ran.unwrap(), "ran", "{profile}");
    }
}

#[tokio::test]
async fn every_declared_effect_of_a_builtin_tool_is_judged() {
    let rules = r#"
[[path]]
paths = ["/forbidden"]
access = "any"
decision = "forbid"
[[command]]
prefix = ["shutdown"]
decision = "forbid"
[[host]]
hosts = ["evil.example"]
decision = "forbid"
"#;
    let fine = || Effects::none().read("a", "path", Extent::File).run("ls");
    for (effects, reason) in [
        (fine().read("/forbidden/x", "second", Extent::Tree), "rules.toml:2"),
        (fine().write("/forbidden/x", "second"), "rules.toml:2"),
        (fine().run("ls; shutdown now"), "rules.toml:6"),
        (fine().connect("evil.example"), "rules.toml:9"),
    ] {
        let env = TestEnv::new(&json!({}), rules);
        for origin in [ToolOrigin::Builtin, ToolOrigin::External] {
            let error = env.call(tool(effects.clone()), origin, json!({})).await.unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        // A rule that allows the tool does not lift a restriction.
        let allowed = format!("{rules}[[tool]]\nname = \"dummy\"\ndecision = \"allow\"\n");
        let env = TestEnv::new(&json!({}), &allowed);
        env.call(tool(effects), ToolOrigin::External, json!({})).await.unwrap_err();
    }
    let env = TestEnv::new(&json!({}), rules);
    assert_eq!(env.call(tool(fine()), ToolOrigin::Builtin, json!({})).await.unwrap(), "ran");
}

#[tokio::test]
async fn a_declaration_permits_nothing_to_an_external_tool() {
    let env = TestEnv::new(&json!({"profile": "careful"}), "");
    let error = env.call(tool(Effects::none()), ToolOrigin::External, json!({"a": 1})).await;
    error.unwrap_err();
    let requests = env.requests();
    assert_eq!(requests[0].reasons(), ["dummy: no rule for this tool"]);
    assert_eq!(requests[0].what, r#"{"a":1}"#);
}

#[tokio::test]
async fn a_declared_write_outside_of_the_workspace_is_asked_about() {
    let settings = json!({"sandbox": "workspace-write"});
    let env = TestEnv::new(&settings, "");
    // Commands have their own `/tmp`, so a new file in `/tmp` is inside of the sandbox.
    fs::write(env.path("outside/file"), "old").unwrap();
    let outside = env.path("outside/file").display().to_string();
    let inside = tool(Effects::none().write("file", "path"));
    assert_eq!(env.call(inside, ToolOrigin::Builtin, json!({})).await.unwrap(), "ran");
    let write = || tool(Effects::none().write(outside.as_str(), "path"));
    let error = env.call(write(), ToolOrigin::Builtin, json!({"path": outside})).await;
    error.unwrap_err();
    let requests = env.requests();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].reasons()[0].contains("the sandbox does not permit it"));
    // The sandbox does not apply to external tools.
    assert_eq!(env.call(write(), ToolOrigin::External, json!({})).await.unwrap(), "ran");
    assert!(env.requests().is_empty());
}

#[cfg(unix)]
#[tokio::test]
async fn an_approved_file_outside_of_the_sandbox_is_accessed_by_its_real_path() {
    let env = TestEnv::new(&json!({"sandbox": "workspace-write"}), "");
    std::os::unix::fs::symlink(env.path("outside"), env.path("project/link")).unwrap();
    let arguments = || json!({"path": "link/file", "content": "new"});
    env.decide(ApprovalDecision::Once);
    let write = pi_tools::write(Arc::clone(&env.workspace));
    let written = env.call(write, ToolOrigin::Builtin, arguments()).await.unwrap();
    let real = env.path("outside/file");
    assert!(written.contains(real.to_str().unwrap()), "{written}");
    assert_eq!(fs::read_to_string(real).unwrap(), "new");
    // The path is not in the declared argument, so it cannot be replaced.
    env.decide(ApprovalDecision::Once);
    let path = env.path("outside/file").display().to_string();
    let effects = Effects::none().write(path, "other");
    let error = env.call(tool(effects), ToolOrigin::Builtin, json!({"other": ["x"]})).await;
    assert!(error.unwrap_err().contains("outside of the sandbox"));
}

#[tokio::test]
async fn tools_on_another_machine_are_judged_by_its_directories_and_never_run_on_this_one() {
    let rules =
        "[[path]]\npaths = [\"~/private\", \"secret\"]\naccess = \"any\"\ndecision = \"forbid\"\n";
    let env = TestEnv::with_settings(json!({ "executor": "ssh:host" }), rules);
    for path in ["/remote/home/private/x", "/remote/work/secret/x"] {
        let read = tool(Effects::none().read(path, "path", Extent::File));
        let error = env.call(read, ToolOrigin::Builtin, json!({})).await.unwrap_err();
        assert!(error.contains("rules.toml:1"), "{error}");
    }
    // Unknown effects need a sandbox, which only this machine has.
    let bash = pi_tools::bash(Arc::clone(&env.workspace));
    let arguments = json!({ "command": "$(echo touch) here" });
    let error = env.call(bash, ToolOrigin::Builtin, arguments).await.unwrap_err();
    assert!(error.contains("tools work on another machine"), "{error}");
    assert!(!env.path("project/here").exists());
}

/// A tool that overrides every method of the trait.
struct Everything {
    declaration: Tool,
    guidelines: Vec<String>,
}

#[deny(clippy::missing_trait_methods)]
impl AgentTool for Everything {
    fn inner(&self) -> Option<&dyn AgentTool> {
        None
    }

    fn requests_approval(&self) -> bool {
        false
    }

    fn declaration(&self) -> &Tool {
        &self.declaration
    }

    fn label(&self) -> Cow<'_, str> {
        "a label".into()
    }

    fn prompt_snippet(&self) -> Option<&str> {
        Some("a snippet")
    }

    fn prompt_guidelines(&self) -> &[String] {
        &self.guidelines
    }

    fn execution_mode(&self) -> ExecutionMode {
        ExecutionMode::Sequential
    }

    fn prepare_arguments<'a>(
        &'a self,
        raw: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Option<Map<String, Value>>, ToolError>> {
        let mut prepared = raw.clone();
        prepared.insert("prepared".to_owned(), true.into());
        Box::pin(std::future::ready(Ok(Some(prepared))))
    }

    fn validates_arguments(&self) -> bool {
        true
    }

    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        Effects::none().summary(format!("{} arguments", arguments.len()), true)
    }

    fn identify_file<'a>(&'a self, path: &'a str) -> BoxFuture<'a, PathBuf> {
        Box::pin(std::future::ready(PathBuf::from(path)))
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Ok(ToolOutput::text(invocation.id)) })
    }
}

#[tokio::test]
async fn every_method_of_a_tool_is_forwarded() {
    let env = TestEnv::new(&json!({}), "");
    let inner = Everything {
        declaration: Tool::new("everything", "Overrides all.", json!({"type": "object"})),
        guidelines: vec!["a guideline".to_owned()],
    };
    let tool = Guarded::wrap(Arc::new(inner), &env.guard, &env.workspace, ToolOrigin::External);
    let arguments = Map::from_iter([("a".to_owned(), Value::from(1))]);
    assert_eq!(tool.declaration().name, "everything");
    assert_eq!(tool.label(), "a label");
    assert_eq!(tool.prompt_snippet(), Some("a snippet"));
    assert_eq!(tool.prompt_guidelines(), ["a guideline"]);
    assert_eq!(tool.execution_mode(), ExecutionMode::Sequential);
    let prepared = tool.prepare_arguments(&arguments).await.unwrap().unwrap();
    assert_eq!(prepared["prepared"], true);
    assert!(tool.validates_arguments());
    assert_eq!(tool.effects(&arguments).summary.unwrap().text, "1 arguments");
    let (cancel, updates) = (CancelToken::new(), Updates::new(|_| {}));
    let output = tool.execute(Invocation::new("an id", arguments, cancel, updates)).await;
    assert_eq!(text(&output.unwrap()), "an id");
}
