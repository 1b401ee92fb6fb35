//! Two extensions that answer the same questions: the merge rules of pi 1.5.0.

use pi_ai::faux::Reply;
use serde_json::json;

use crate::probes::{Seen, probe, prompt};
use crate::trial::Setup;

#[tokio::test]
async fn answers_of_two_extensions_are_merged_as_by_pi() {
    let setup = Setup::new().existing(probe("merge-a.ts")).existing(probe("merge-b.ts"));
    let trial = setup.start().await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    let (seen, _subscription) = Seen::of(&trial);
    let bash = |command: &str| Reply::new().tool_call("bash", &json!({ "command": command }));
    let text = |text: &str| Reply::new().text(text);
    let mut record = String::new();
    for (message, replies) in [
        ("hello", vec![text("hi")]),
        ("HANDLE it", vec![]),
        ("FORCE me", vec![text("hi")]),
        ("[[[ a changed command", vec![bash("echo one"), text("end")]),
        ("[[[ a blocked command", vec![bash("echo FORBIDDEN"), text("end")]),
        ("[[[ a block without a reason", vec![bash("echo NOREASON"), text("end")]),
        ("[[[ a replaced answer", vec![text("REPLACE me")]),
        ("[[[ an answer of another role", vec![text("WRONGROLE me")]),
        ("[[[ entries at the end of a turn", vec![text("ADD entries")]),
        ("[[[ an invalid entry", vec![text("INVALID")]),
        ("[[[ one more turn", vec![text("GOON please"), text("end")]),
    ] {
        replies.into_iter().for_each(|reply| trial.model.push(reply));
        prompt(&trial, message).await;
        record.push_str(&format!("> {message}\n{}\n", seen.take().join("\n")));
        assert_eq!(trial.model.pending(), 0, "{message}: replies that were not asked for");
    }
    let session = trial.runtime.session();
    for command in ["answer", "bad", "throw", "ops", "other"] {
        let ran = session.execute_bash(command, Default::default()).await;
        let ran = ran.map(|result| (result.output, result.exit_code));
        record.push_str(&format!("$ {command}: {ran:?}\n{}\n", seen.take().join("\n")));
    }
    let replaced = trial.runtime.new_session(None).await.unwrap();
    record.push_str(&format!("new session: cancelled {}\n", replaced.cancelled));
    // An edited context misses the prompt cache, after a time that varies.
    let lines = record.lines().filter(|line| !line.starts_with("entry custom pi.cache-miss"));
    let record: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    insta::assert_snapshot!(record.join("\n"));
}
