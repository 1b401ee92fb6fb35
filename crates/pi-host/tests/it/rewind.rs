//! Moving a session back: files, conversation, both, and what the model learns of it.

use std::path::PathBuf;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::session::Navigation;
use pi_coding_agent::{AgentRuntime, SessionSelector, create_agent_session};
use pi_config::checkpoints::checkpoint_directory;
use pi_host::undo::{
    NOTE_TYPE, RewindPlan, RewindScope, plan_redo, plan_rewind, plan_undo, rewind,
};
use pi_protocol::{AgentMessage, Message};
use pi_session::{ExtensionMessage, text_of};
use serde_json::json;

use crate::env::TestEnv;

struct RewindEnv {
    project: TestEnv,
    model: Faux,
    runtime: AgentRuntime,
}

impl RewindEnv {
    /// Creates a session with three runs: the first and the third write files.
    async fn new() -> Self {
        let (project, model) = (TestEnv::new(), Faux::new());
        let mut options = project.options(&model);
        options.guard.checkpoints = true;
        options.session.selector = SessionSelector::New;
        let runtime = create_agent_session(options).await.unwrap().runtime;
        let env = Self { project, model, runtime };
        env.run("First", Some(json!({ "path": "a.txt", "content": "one" }))).await;
        env.run("Second", None).await;
        env.run("Third", Some(json!({ "path": "a.txt", "content": "two" }))).await;
        env
    }

    async fn run(&self, prompt: &str, write: Option<serde_json::Value>) {
        if let Some(arguments) = write {
            self.model.push(Reply::new().tool_call("write", &arguments));
        }
        self.model.push(Reply::new().text("Done."));
        self.runtime.session().prompt_text(prompt).await.unwrap();
    }

    fn store(&self) -> PathBuf {
        let agent = self.project.project().parent().unwrap().join("agent");
        checkpoint_directory(&agent, &self.runtime.session().id())
    }

    fn file(&self) -> Option<String> {
        std::fs::read_to_string(self.project.project().join("a.txt")).ok()
    }

    fn prompt(&self, text: &str) -> String {
        let prompts = self.runtime.session().user_messages().unwrap();
        prompts.into_iter().find(|one| one.text == text).unwrap().entry_id
    }

    /// Returns the texts of the messages of the branch: prompts, and notes with a mark.
    fn context(&self) -> Vec<String> {
        let messages = self.runtime.session().messages();
        let texts = messages.iter().filter_map(|message| {
            if let Some(note) = message.as_custom::<ExtensionMessage>() {
                assert_eq!(note.custom_type, NOTE_TYPE);
                return Some(format!("note: {}", text_of(&note.content)));
            }
            let AgentMessage::Llm(Message::User(user)) = message else { return None };
            Some(text_of(&user.content))
        });
        texts.collect()
    }

    async fn rewind(&self, plan: RewindPlan, scope: RewindScope) -> Option<String> {
        let session = self.runtime.session();
        let done = rewind(&session, plan, scope, Navigation::default()).await.unwrap();
        assert!(!done.navigation.cancelled && done.restored.stopped.is_none());
        done.navigation.text
    }
}

#[tokio::test]
async fn the_last_run_moves_back_in_parts_or_as_a_whole() {
    for (scope, file, context) in [
        (RewindScope::Files, "one", &["First", "Second", "Third", "note: "][..]),
        (RewindScope::Conversation, "two", &["First", "Second", "note: "]),
        (RewindScope::Both, "one", &["First", "Second"]),
    ] {
        let env = RewindEnv::new().await;
        let plan = plan_undo(&env.runtime.session(), &env.store()).unwrap();
        assert_eq!(plan.entry, Some(env.prompt("Third")));
        let text = env.rewind(plan, scope).await;
        assert_eq!(text.is_some(), scope != RewindScope::Files, "{scope:?}");
        assert_eq!(env.file().as_deref(), Some(file), "{scope:?}");
        let found = env.context();
        assert_eq!(found.len(), context.len(), "{scope:?}: {found:?}");
        for (found, expected) in found.iter().zip(context) {
            assert!(found.starts_with(expected), "{scope:?}: {found}");
        }
        if let [.., note] = found.as_slice()
            && note.starts_with("note")
        {
            assert!(note.contains("a.txt"), "{note}");
        }
    }
}

#[tokio::test]
async fn a_move_to_an_earlier_prompt_takes_back_all_runs_since() {
    let env = RewindEnv::new().await;
    let session = env.runtime.session();
    // The second prompt is left, but its run changed nothing: only that of the third counts.
    let plan = plan_rewind(&session, &env.store(), &env.prompt("Second")).unwrap();
    assert_eq!(plan.files.as_ref().unwrap().paths, ["a.txt"]);
    env.rewind(plan, RewindScope::Both).await;
    assert_eq!((env.file().as_deref(), env.context()), (Some("one"), vec!["First".to_owned()]));
    // Nothing of the branch changed files after the first prompt any more.
    let plan = plan_rewind(&session, &env.store(), &env.prompt("First")).unwrap();
    let diff = plan.files.as_ref().unwrap().diff.clone();
    assert!(diff.contains("a.txt") && diff.contains("-one"), "{diff}");
    env.rewind(plan, RewindScope::Both).await;
    assert_eq!((env.file(), env.context().len()), (None, 0));
    // Files can be repeated, run by run; the model is told.
    env.rewind(plan_redo(&session, &env.store()).unwrap(), RewindScope::Files).await;
    assert_eq!(env.file().as_deref(), Some("one"));
    assert!(env.context()[0].contains("repeated"), "{:?}", env.context());
}

#[tokio::test]
async fn runs_of_other_branches_are_taken_back_only_with_their_prompts() {
    let env = RewindEnv::new().await;
    let session = env.runtime.session();
    let plan = plan_undo(&session, &env.store()).unwrap();
    env.rewind(plan, RewindScope::Both).await;
    // A move forward to the branch that was left takes nothing back.
    let plan = plan_rewind(&session, &env.store(), &env.prompt("Third")).unwrap();
    assert!(plan.files.is_none());
}

#[tokio::test]
async fn files_that_the_user_changed_are_kept_and_named() {
    let env = RewindEnv::new().await;
    let session = env.runtime.session();
    std::fs::write(env.project.project().join("a.txt"), "mine").unwrap();
    let plan = plan_undo(&session, &env.store()).unwrap();
    let done = rewind(&session, plan, RewindScope::Both, Navigation::default()).await.unwrap();
    assert_eq!(done.restored.conflicts.len(), 1);
    assert_eq!(env.file().as_deref(), Some("mine"));
    let context = env.context();
    assert!(context.last().unwrap().contains("still in place:\n- a.txt"), "{context:?}");
}
