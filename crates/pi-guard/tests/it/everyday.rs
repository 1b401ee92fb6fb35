//! What the profiles say of everyday commands, and of those that try to get past a rule.

use pi_guard::Decision;
use pi_guard::policy::{Defaults, Layer, Policy, RuleFile};

use crate::evasion::{context, decision, unescape};

const PUSH: &str = "[[command]]\nprefix = [\"git\", \"push\"]\ndecision = \"forbid\"\n";
const MORE: &str = include_str!("evasion/more.toml");

fn policy(defaults: Defaults, rules: &str) -> Policy {
    let mut policy = Policy::new(defaults);
    policy.add(RuleFile::parse("rules", rules, Layer::User).unwrap());
    policy
}

/// What a policy says of a script, as the tables write it.
fn said(policy: &Policy, script: &str) -> (Decision, bool) {
    let verdict = policy.check(script, &context());
    (verdict.decision, verdict.confined && verdict.decision == Decision::Allow)
}

fn expected(word: &str, place: &str) -> (Decision, bool) {
    if word == "confined" { (Decision::Allow, true) } else { (decision(word, place), false) }
}

/// Compares a table, of which each line has a word for each policy and then a script.
fn compare(table: &str, policies: &[(&str, Policy)]) -> usize {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for (number, line) in table.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        rows += 1;
        let place = format!("line {}", number + 1);
        let mut parts = line.splitn(policies.len() + 1, ' ');
        let words: Vec<&str> = parts.by_ref().take(policies.len()).collect();
        let script = unescape(parts.next().unwrap());
        for (word, (name, policy)) in words.iter().zip(policies) {
            let found = said(policy, &script);
            if found != expected(word, &place) {
                let explained = policy.check(&script, &context()).explain();
                wrong.push(format!("{place}: {script}\n  {name} not {word}: {explained}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    rows
}

/// One rule on something else hinders nobody, and what only reads is not asked about.
#[test]
fn everyday_commands_are_not_hindered() {
    let policies = [
        ("explore", policy(Defaults::explore(), PUSH)),
        ("careful", policy(Defaults::careful(), "")),
    ];
    assert!(compare(include_str!("evasion/everyday.txt"), &policies) > 500);
}

/// The profile that asks nothing, without any rule: nothing is refused that does not ruin.
#[test]
fn without_rules_nothing_is_refused() {
    let explore = policy(Defaults::explore(), "");
    for line in include_str!("evasion/everyday.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let script = unescape(line.splitn(3, ' ').nth(2).unwrap());
        assert_eq!(said(&explore, &script).0, Decision::Allow, "{script}");
    }
    assert!(!explore.restricts());
}

#[test]
fn every_profile_says_what_the_table_says() {
    let policies = [
        ("explore", policy(Defaults::explore(), MORE)),
        ("careful", policy(Defaults::careful(), MORE)),
        ("unattended", policy(Defaults::unattended(), MORE)),
    ];
    assert!(compare(include_str!("evasion/more.txt"), &policies) > 500);
}
