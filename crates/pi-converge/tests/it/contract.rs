//! The contract as people write it.

use std::time::Duration;

use pi_converge::{Contract, Outcome, Time};

#[test]
fn durations_are_read_as_people_write_them() {
    let cases = [
        ("90", Some(90_000)),
        ("90s", Some(90_000)),
        ("30m", Some(1_800_000)),
        ("1h30m", Some(5_400_000)),
        ("250ms", Some(250)),
        ("", None),
        ("m", None),
        ("5 parsecs", None),
        ("-3s", None),
        ("99999999999999999999h", None),
    ];
    for (text, millis) in cases {
        let parsed = Time::parse(text).map(|time| time.0);
        assert_eq!(parsed, millis.map(Duration::from_millis), "{text:?}");
    }
}

#[test]
fn a_contract_needs_only_a_goal() {
    let contract: Contract = serde_json::from_str(r#"{"goal":"Fix it"}"#).unwrap();
    assert_eq!(contract.limits.limits().turns, Some(500));
    assert_eq!(contract.attempts.count(), 1);
    let stored = serde_json::to_string(&contract).unwrap();
    assert_eq!(serde_json::from_str::<Contract>(&stored).unwrap(), contract);
}

#[test]
fn unknown_fields_of_a_contract_are_refused() {
    let error = serde_json::from_str::<Contract>(r#"{"goal":"x","limts":{}}"#).unwrap_err();
    assert!(error.to_string().contains("limts"), "{error}");
}

#[test]
fn names_of_outcomes_are_their_serialization() {
    for outcome in Outcome::ALL {
        assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.name());
    }
}
