//! Texts of failures and accounts in tokens.

use serde_json::json;

use super::{error, token};
use crate::wire::HttpFailure;

#[test]
fn limits_of_a_subscription_are_said_in_plain_words() {
    let rows = [
        (
            429,
            json!({"error": {"type": "usage_limit_reached", "message": "The usage limit has been \
                reached", "plan_type": "Plus", "resets_at": 1_794_822_000, "resets_in_seconds": 3541}}),
            "You have hit your ChatGPT usage limit (plus plan). Try again in ~60 min.",
        ),
        (
            429,
            json!({"error": {"code": "usage_limit_reached", "resets_at": 1_794_822_000}}),
            "You have hit your ChatGPT usage limit. The limit is reset at 2026-11-16 09:40 UTC.",
        ),
        (
            404,
            json!({"error": {"code": "usage_limit_reached", "plan_type": "pro"}}),
            "You have hit your ChatGPT usage limit (pro plan).",
        ),
        (
            429,
            json!({"type": "error", "status": 429, "error": {"type": "usage_limit_reached"}}),
            "You have hit your ChatGPT usage limit.",
        ),
        (
            429,
            json!({"error": {"type": "usage_not_included", "plan_type": "free"}}),
            "Your ChatGPT plan does not include this use (free plan): usage_not_included. Use another \
             plan or an API key.",
        ),
        (
            429,
            json!({"error": {"type": "rate_limit_exceeded", "message": "slow down"}}),
            r#"ChatGPT API error (429): {"type":"rate_limit_exceeded","message":"slow down"}"#,
        ),
        (
            400,
            json!({"detail": "Unsupported parameter: x"}),
            r#"ChatGPT API error (400): 400 {"detail":"Unsupported parameter: x"}"#,
        ),
    ];
    for (status, body, expected) in rows {
        let failure = HttpFailure::new(status, body.to_string());
        assert_eq!(error::text(&failure), expected, "{body}");
    }
}

#[test]
fn an_answer_about_limits_is_no_failure() {
    let delta = json!({"type": "response.output_text.delta", "delta": "usage_limit_reached"});
    assert_eq!(error::usage_limit(&delta.to_string()), None);
    let tool = json!({"type": "response.completed", "error": {"code": "usage_limit_reached"}});
    assert_eq!(error::usage_limit(&tool.to_string()), None);
}

#[test]
fn the_account_is_read_from_the_token() {
    let claims =
        "eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiYWNjLTEifX0";
    assert_eq!(token::account_id(&format!("h.{claims}.s")).as_deref(), Some("acc-1"));
    assert_eq!(token::account_id(&format!("h.{claims}=.s")).as_deref(), Some("acc-1"));
    for other in ["", "sk-key", "a.b", "a..c", "a.e30.c", "a.!!!.c", "é.é.é"] {
        assert_eq!(token::account_id(other), None, "{other}");
    }
}
