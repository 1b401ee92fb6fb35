//! The rules of the decision to compact.

use pi_protocol::{AssistantMessage, Model, StopReason, Usage};
use pi_session::compaction::{
    CheckTime, CompactionCheck, CompactionDecision, CompactionSettings, Overflow, decide,
    estimated_tokens, should_compact,
};
use pi_session::project;
use serde_json::{Value, json};

use super::fixture::path;

const WINDOW: u64 = 100_000;

fn settings() -> CompactionSettings {
    CompactionSettings::default()
}

fn model(id: &str) -> Model {
    Model {
        id: id.to_owned(),
        provider: "p".to_owned(),
        context_window: WINDOW,
        max_tokens: 8000,
        ..Model::default()
    }
}

fn answer(stop_reason: StopReason, tokens: u64) -> AssistantMessage {
    AssistantMessage {
        provider: "p".to_owned(),
        model: "m".to_owned(),
        stop_reason,
        usage: Usage { total_tokens: tokens, ..Usage::default() },
        timestamp: 1000.0,
        ..AssistantMessage::default()
    }
}

#[test]
fn the_threshold_is_the_window_without_the_reserve() {
    let off = CompactionSettings { enabled: false, ..settings() };
    let cases = [
        ("at the limit", 83_616, WINDOW, settings(), false),
        ("one above", 83_617, WINDOW, settings(), true),
        ("far below", 10, WINDOW, settings(), false),
        ("switched off", 99_999, WINDOW, off, false),
        ("a window smaller than the reserve", 1, 100, settings(), true),
        ("an unknown window", 10, 0, settings(), false),
        ("absurd", u64::MAX, u64::MAX, settings(), false),
    ];
    for (name, tokens, window, settings, expected) in cases {
        assert_eq!(should_compact(tokens, window, &settings), expected, "{name}");
    }
}

#[test]
fn settings_have_the_names_of_the_settings_file() {
    let read = |value: Value| serde_json::from_value::<CompactionSettings>(value).unwrap();
    assert_eq!(read(json!({})), settings());
    let expected = json!({"enabled": true, "reserveTokens": 16384, "keepRecentTokens": 20000});
    assert_eq!(serde_json::to_value(settings()).unwrap(), expected);
    let changed = read(json!({"enabled": false, "keepRecentTokens": 5}));
    assert!(!changed.enabled && changed.keep_recent_tokens == 5);
    assert_eq!(changed.reserve_tokens, 16_384);
}

#[test]
fn every_rule_of_the_decision() {
    use CompactionDecision::{GiveUp, Nothing, Overflow as Compact, Threshold};
    use StopReason::{Aborted, Error, Length, Stop, ToolUse};
    let (model, other) = (model("m"), model("other"));
    let check = |answer, overflow| CompactionCheck {
        when: CheckTime::AfterRun,
        answer,
        overflow,
        model: &model,
        routed: None,
        compacted_at: None,
        recovery_attempted: false,
        edited: false,
    };
    let (full, small) = (answer(Stop, 90_000), answer(Stop, 100));
    let (failed, cut, silent) = (answer(Error, 0), answer(Length, 500), answer(Stop, 120_000));
    let (aborted, working) = (answer(Aborted, 90_000), answer(ToolUse, 90_000));
    let uncounted = answer(Stop, 0);
    let failed_late = answer(Error, 90_000);
    let no = |answer| check(answer, Overflow::No);
    let exceeded = |answer| check(answer, Overflow::Exceeded);
    let truncated = |answer| check(answer, Overflow::Truncated);
    // The check, the result of the estimate, and the decision.
    let cases: Vec<(&str, CompactionCheck<'_>, Option<u64>, CompactionDecision)> = vec![
        ("room enough", no(&small), None, Nothing),
        ("nearly full", no(&full), None, Threshold),
        ("nearly full after tools", no(&working), None, Threshold),
        ("aborted", no(&aborted), None, Nothing),
        (
            "aborted, before a prompt",
            CompactionCheck { when: CheckTime::BeforePrompt, ..no(&aborted) },
            None,
            Threshold,
        ),
        ("stale", CompactionCheck { compacted_at: Some(1000.0), ..no(&full) }, None, Nothing),
        ("not stale", CompactionCheck { compacted_at: Some(999.0), ..no(&full) }, None, Threshold),
        (
            "stale overflow",
            CompactionCheck { compacted_at: Some(1000.0), ..exceeded(&failed) },
            None,
            Nothing,
        ),
        ("overflow", exceeded(&failed), None, Compact { retry: true }),
        ("silent overflow", exceeded(&silent), None, Compact { retry: false }),
        (
            "silent overflow after recovery",
            CompactionCheck { recovery_attempted: true, ..exceeded(&silent) },
            None,
            Compact { retry: false },
        ),
        ("truncated", truncated(&cut), None, Compact { retry: true }),
        ("of another model", CompactionCheck { model: &other, ..exceeded(&failed) }, None, Nothing),
        (
            "of the model behind the current one",
            CompactionCheck { model: &other, routed: Some(&model), ..exceeded(&failed) },
            None,
            Compact { retry: true },
        ),
        (
            "of another model, but nearly full",
            CompactionCheck { model: &other, ..exceeded(&failed) },
            Some(90_000),
            Threshold,
        ),
        ("error without a count", no(&failed), None, Nothing),
        ("error in a small context", no(&failed), Some(50), Nothing),
        ("error in a full context", no(&failed), Some(90_000), Threshold),
        ("the count of an error", no(&failed_late), Some(50), Nothing),
        ("no count, full", no(&uncounted), Some(90_000), Threshold),
        ("no count at all", no(&uncounted), None, Nothing),
        ("edited down", CompactionCheck { edited: true, ..no(&full) }, Some(50), Nothing),
        ("edited up", CompactionCheck { edited: true, ..no(&small) }, Some(90_000), Threshold),
    ];
    for (name, check, estimate, expected) in cases {
        assert_eq!(decide(&check, &settings(), || estimate), expected, "{name}");
        let off = CompactionSettings { enabled: false, ..settings() };
        assert_eq!(decide(&check, &off, || estimate), Nothing, "{name}, switched off");
    }
    let again = |check| match decide(
        &CompactionCheck { recovery_attempted: true, ..check },
        &settings(),
        || None,
    ) {
        GiveUp(text) => text,
        other => panic!("{other:?}"),
    };
    let prefix = "recovery failed after one compact-and-retry attempt.";
    assert!(again(exceeded(&failed)).starts_with(&format!("Context overflow {prefix}")));
    assert!(again(truncated(&cut)).starts_with(&format!("Truncated response {prefix}")));
}

#[test]
fn the_estimate_is_computed_only_on_demand() {
    let (model, full) = (model("m"), answer(StopReason::Stop, 90_000));
    let check = CompactionCheck {
        when: CheckTime::AfterRun,
        answer: &full,
        overflow: Overflow::No,
        model: &model,
        routed: None,
        compacted_at: None,
        recovery_attempted: false,
        edited: false,
    };
    let decision = decide(&check, &settings(), || panic!("reading a session is not free"));
    assert_eq!(decision, CompactionDecision::Threshold);
}

#[test]
fn an_estimate_requires_a_count_since_the_last_compaction() {
    let answered = json!(["assistant", 40, {"usage": 500}]);
    let failed = json!(["assistant", 0, {"stop": "error", "usage": 900}]);
    let (asked, compacted) = (json!(["user", 40]), json!(["compaction", 40, {"kept": 0}]));
    let edit = json!(["edit", null, {"target": 0}]);
    let cases = [
        ("never counted", json!([asked, failed]), None),
        ("counted before the error", json!([asked, answered, asked, failed]), Some(510)),
        ("counted before the compaction", json!([asked, answered, compacted, asked, failed]), None),
        ("counted after it", json!([asked, compacted, asked, answered, asked, failed]), Some(510)),
        ("edited after the count", json!([asked, answered, edit]), Some(10)),
        ("counted after the edit", json!([asked, edit, asked, answered, asked]), Some(510)),
    ];
    for (name, short, expected) in cases {
        assert_eq!(estimated_tokens(&project(path(&short))), expected, "{name}");
    }
}
