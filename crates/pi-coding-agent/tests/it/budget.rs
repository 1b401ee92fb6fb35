//! The budget of a prompt: retries, pauses, summaries and the requests of extensions.

use std::time::Duration;

use pi_agent::{Budget, Limit, Limits, Outcome};
use pi_ai::faux::Reply;
use pi_coding_agent::session::{Meter, PromptOptions};
use pi_protocol::{CancelToken, Context, Message, Request, StreamOptions, complete};

use crate::session::{small_window, summary};
use crate::test_session::TestSession;

async fn prompt(test: &TestSession, text: &str) -> Outcome {
    let end = test.session.turn(text, PromptOptions::default()).run().await;
    assert!(end.is_asked);
    end.run.unwrap()
}

#[tokio::test(start_paused = true)]
async fn retries_and_their_pauses_are_limited() {
    let second = Duration::from_secs(1);
    // The pauses take two, four and eight seconds.
    let cases = [
        (Limits::default().turns(3), Limit::Turns, 3),
        (Limits::default().wall_time(3 * second), Limit::WallTime, 2),
        (Limits::default().idle_time(3 * second), Limit::IdleTime, 2),
    ];
    for (limits, limit, requests) in cases {
        let test = TestSession::with(|parts| parts.settings.limits = limits);
        for _ in 0..9 {
            test.model.push(Reply::new().fail("503: overloaded"));
        }
        assert_eq!(prompt(&test, "go").await, Outcome::Limit { limit });
        assert_eq!(test.model.requests().len(), requests, "{limit}");
        assert!(!test.session.is_streaming(), "{limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_prompt_has_a_budget_of_its_own() {
    let test = TestSession::with(|parts| parts.settings.limits = Limits::default().turns(1));
    for text in ["one", "two"] {
        test.model.push(Reply::new().text(text));
        assert_eq!(prompt(&test, "go").await, Outcome::Completed);
    }
}

#[tokio::test(start_paused = true)]
async fn summaries_and_other_requests_count() {
    let budget = Budget::new(Limits::default().turns(30));
    let meter = Meter::new(Some(budget.clone()));
    let test = TestSession::with(|parts| {
        small_window(parts);
        parts.meter = meter;
    });
    test.model.push(Reply::new().text("word ".repeat(2_000)));
    prompt(&test, &"hello ".repeat(500)).await;
    test.model.push(Reply::new().text("two"));
    prompt(&test, "say two").await;
    test.model.push(summary());
    test.model.push(summary());
    test.session.compact(None).await.unwrap();
    assert_eq!(budget.spent().turns as usize, test.model.requests().len());

    let ask = || {
        let messages = std::iter::once(Message::user("question")).collect();
        let context = Context { messages, ..Context::default() };
        let request =
            Request::new(test.session.model().unwrap(), context, StreamOptions::default());
        complete(&**test.session.provider(), request, CancelToken::new())
    };
    while budget.spent().turns < 30 {
        test.model.push(Reply::new().text("answer"));
        ask().await;
    }
    let refused = ask().await;
    let error = refused.error_message.as_deref().unwrap_or_default();
    assert!(error.contains("has reached its limit: turns"), "{error}");
    let error = test.session.compact(None).await.unwrap_err().to_string();
    assert!(error.contains("limit") || error.contains("compact"), "{error}");
    assert_eq!(prompt(&test, "more").await, Outcome::Limit { limit: Limit::Turns });
    assert_eq!(test.model.requests().len(), 30);
}
