//! Turns: one prompt in, one value out.

use std::sync::Arc;
use std::time::Duration;

use pi_agent::Outcome;
use pi_ai::faux::Reply;
use pi_coding_agent::extension::{Command, Extension, Extensions, Handlers, Input, InputAction};
use pi_coding_agent::session::{
    AgentSession, EndedTurn, OutputContract, PromptError, PromptOptions, ResultCollector,
};
use pi_protocol::{CancelToken, Outcome as Row, StopCause, StopReason, Usage};
use serde_json::json;

use crate::test_session::TestSession;

async fn with(extension: impl Extension + 'static) -> TestSession {
    let (extensions, failures) = Extensions::load(vec![Arc::new(extension)]).await;
    assert_eq!(failures, []);
    TestSession::with(|parts| parts.extensions = extensions)
}

async fn run(session: &AgentSession, text: &str) -> EndedTurn {
    session.turn(text, PromptOptions::default()).run().await
}

#[tokio::test]
async fn each_turn_has_its_row_its_answer_and_its_usage() {
    let test = TestSession::new();
    let usage = |input| Usage { input, total_tokens: input, ..Usage::default() };
    let cases = [
        (Reply::new().text("Yes."), Row::Completed, Some(StopCause::EndTurn), None),
        (
            Reply::new().text("Ye").stop_reason(StopReason::Length),
            Row::Truncated,
            Some(StopCause::MaxTokens),
            Some("the answer was cut off at the model's output limit"),
        ),
        (
            Reply::new().thinking("Hm."),
            Row::NoAnswer,
            Some(StopCause::EndTurn),
            Some("the model gave no answer"),
        ),
        (Reply::new().fail("400: no"), Row::Failed, None, Some("400: no")),
        (Reply::new().fail("401: no"), Row::NoModel, None, Some("401: no")),
    ];
    for (number, (reply, row, stop, reason)) in cases.into_iter().enumerate() {
        let tokens = 10 + number as u64;
        test.model.push(reply.usage(usage(tokens)));
        let end = run(&test.session, "Go").await;
        assert_eq!((end.outcome, end.stop()), (row, stop), "{end:?}");
        assert_eq!(end.reason().as_deref(), reason);
        assert!(end.is_asked && end.answer.is_some() && end.replaced.is_none());
        assert_eq!((end.usage().tokens.input, end.usage().turns), (tokens, 1));
    }
}

#[tokio::test]
async fn a_turn_that_fails_at_once_does_not_return_an_earlier_answer() {
    let test = TestSession::new();
    test.model.push(Reply::new().text("Yes."));
    assert_eq!(run(&test.session, "Go").await.outcome, Row::Completed);
    let test = test.reopened(|parts| {
        parts.settings.limits.turns = Some(0);
    });
    let end = run(&test.session, "Go on").await;
    assert_eq!((end.outcome, end.stop()), (Row::Limit, Some(StopCause::MaxTurnRequests)));
    assert_eq!(end.answer.map(|answer| answer.text()).unwrap_or_default(), "");
}

#[tokio::test]
async fn a_cancelled_turn_ends_in_order() {
    let test = TestSession::new();
    let cancel = CancelToken::new();
    cancel.cancel();
    let turn = test.session.turn("Go", PromptOptions::default()).cancel(&cancel);
    let end = turn.run().await;
    assert!(matches!(end.run, Err(PromptError::Cancelled)), "{end:?}");
    assert_eq!((end.outcome, end.stop()), (Row::Aborted, Some(StopCause::Cancelled)));
    assert_eq!((test.model.requests().len(), test.session.message_count()), (0, 0));

    test.model.push(Reply::new().text("Ye").hang());
    let cancel = CancelToken::new();
    let begun = test.session.turn("Go", PromptOptions::default()).cancel(&cancel).begin().await;
    let begun = begun.unwrap();
    let request = async {
        while test.model.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (end, ()) = tokio::join!(begun.finish(), request);
    assert_eq!((end.outcome, end.stop()), (Row::Aborted, Some(StopCause::Cancelled)));
    assert_eq!(test.record_types().last().unwrap(), "agent_settled aborted=true");
    assert!(!test.session.is_streaming());
}

#[tokio::test]
async fn a_prompt_that_is_cancelled_while_extensions_see_it_is_dropped() {
    let cancel = CancelToken::new();
    let cancelling = cancel.clone();
    let test = with(Handlers::new("test:slow").on(move |_: Input, _| {
        let cancel = cancelling.clone();
        async move {
            cancel.cancel();
            tokio::time::sleep(Duration::from_secs(3600)).await;
            Ok(InputAction::Continue)
        }
    }))
    .await;
    let end = test.session.turn("Go", PromptOptions::default()).cancel(&cancel).run().await;
    assert_eq!(end.outcome, Row::Aborted);
    assert!(test.model.requests().is_empty() && !test.session.is_streaming());
}

#[tokio::test]
async fn a_turn_waits_for_what_a_command_started() {
    let ask = Command::new("ask", "Asks the model.", |text, context| async move {
        let session = context.session().unwrap();
        if !text.is_empty() {
            let begun = session.turn(text, PromptOptions::default().literal()).begin().await;
            tokio::spawn(begun.unwrap().into_run().unwrap().finish());
        }
        Ok(())
    });
    let test = with(Handlers::new("test:ask").command(ask)).await;
    assert!(test.session.turn("/ask", PromptOptions::default()).is_command());
    assert!(!test.session.turn("/ask", PromptOptions::default().literal()).is_command());
    let end = run(&test.session, "/ask").await;
    assert_eq!((end.outcome, end.is_asked, end.answer), (Row::Completed, false, None));

    test.model.push(Reply::new().text("Yes."));
    let end = run(&test.session, "/ask Is it?").await;
    assert_eq!((end.outcome, end.is_asked), (Row::Completed, true));
    assert_eq!(end.answer.unwrap().text(), "Yes.");

    test.model.push(Reply::new().fail("400: no"));
    let end = run(&test.session, "/ask Is it?").await;
    assert_eq!(end.run.unwrap(), Outcome::Failed { error: "400: no".to_owned() });
}

#[tokio::test]
async fn a_result_is_collected_and_repaired() {
    let schema = json!({"type": "object", "required": ["ok"]});
    let new = |repairs| {
        let contract = OutputContract::compile(&schema).unwrap();
        ResultCollector::new(contract, Some(repairs))
    };
    // Repairs, answers, results: the number of prompts that ask for a repair, and the row.
    let cases = [
        (3, vec!["{\"ok\": 1}"], 0, Row::Completed),
        (3, vec!["no", "{}", "{\"ok\": 1}"], 2, Row::Completed),
        (1, vec!["no", "{}"], 1, Row::InvalidOutput),
    ];
    for (repairs, answers, repaired, row) in cases {
        let collector = new(repairs);
        let (extensions, _) = Extensions::load(vec![collector.extension()]).await;
        let test = TestSession::with(|parts| parts.extensions = extensions);
        answers.iter().for_each(|answer| test.model.push(Reply::new().text(*answer)));
        let mut prompts = Vec::new();
        let turn = test.session.turn("Go", PromptOptions::default()).collect(Some(&collector));
        let end = turn
            .on_repair(|prompt| {
                prompts.push(prompt.to_owned());
                true
            })
            .run()
            .await;
        assert_eq!((end.outcome, prompts.len()), (row, repaired), "{answers:?}: {end:?}");
        match end.result.unwrap() {
            Ok(value) => assert_eq!(*value, json!({"ok": 1})),
            Err(invalid) => assert_eq!(invalid.problems(), ["missing property \"ok\""]),
        }
    }
    let collector = new(3);
    let (extensions, _) = Extensions::load(vec![collector.extension()]).await;
    let test = TestSession::with(|parts| parts.extensions = extensions);
    test.model.push(Reply::new().text("no"));
    let turn = test.session.turn("Go", PromptOptions::default()).collect(Some(&collector));
    let end = turn.on_repair(|_| false).run().await;
    assert_eq!((end.result, test.model.requests().len()), (None, 1));
}
