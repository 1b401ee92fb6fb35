//! The decisions of the profiles about everyday commands and about evasions.

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

/// The decision about a script, and whether it applies in the sandbox only.
fn decide(policy: &Policy, script: &str) -> (Decision, bool) {
    let verdict = policy.check(script, &context());
    (verdict.decision, verdict.confined && verdict.decision == Decision::Allow)
}

fn expected(word: &str, line: &str) -> (Decision, bool) {
    if word == "confined" { (Decision::Allow, true) } else { (decision(word, line), false) }
}

/// Compares a table whose lines have one word for each policy and then a script.
fn compare(table: &str, policies: &[(&str, Policy)]) -> usize {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for (number, line) in table.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        rows += 1;
        let position = format!("line {}", number + 1);
        let mut parts = line.splitn(policies.len() + 1, ' ');
        let words: Vec<&str> = parts.by_ref().take(policies.len()).collect();
        let script = unescape(parts.next().unwrap());
        for (word, (name, policy)) in words.iter().zip(policies) {
            let found = decide(policy, &script);
            if found != expected(word, &position) {
                let explained = policy.check(&script, &context()).explain();
                wrong.push(format!("{position}: {script}\n  {name} not {word}: {explained}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    rows
}

/// A rule on another command changes nothing, and commands that only read need no approval.
#[test]
fn everyday_commands_are_allowed() {
    let policies = [
        ("explore", policy(Defaults::explore(), PUSH)),
        ("careful", policy(Defaults::careful(), "")),
    ];
    assert!(compare(include_str!("evasion/everyday.txt"), &policies) > 500);
}

/// Without rules, the profile that never asks refuses only catastrophes.
#[test]
fn without_rules_everyday_commands_are_allowed() {
    let explore = policy(Defaults::explore(), "");
    for line in include_str!("evasion/everyday.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let script = unescape(line.splitn(3, ' ').nth(2).unwrap());
        assert_eq!(decide(&explore, &script).0, Decision::Allow, "{script}");
    }
    assert!(!explore.restricts());
}

#[test]
fn every_profile_decides_as_the_table_says() {
    let policies = [
        ("explore", policy(Defaults::explore(), MORE)),
        ("careful", policy(Defaults::careful(), MORE)),
        ("unattended", policy(Defaults::unattended(), MORE)),
    ];
    assert!(compare(include_str!("evasion/more.txt"), &policies) > 500);
}

/// What is not shown to be harmless is unknown.
#[test]
fn unknown_effects_are_decided_as_the_table_says() {
    let rules = include_str!("evasion/closed.toml");
    let policies = [
        ("explore", policy(Defaults::explore(), rules)),
        ("careful", policy(Defaults::careful(), rules)),
        ("unattended", policy(Defaults::unattended(), rules)),
    ];
    assert!(compare(include_str!("evasion/closed.txt"), &policies) > 150);
}

fn covered(defaults: Defaults) -> Defaults {
    defaults.with_checkpoint(true).with_repository_checkpoint(true)
}

/// A checkpoint of the workspace permits what it can undo, and nothing else.
#[test]
fn destruction_is_decided_by_its_reach() {
    let unattended = Defaults::unattended();
    let policies = [
        ("explore", policy(Defaults::explore(), "")),
        ("careful", policy(covered(Defaults::careful()), "")),
        ("unattended", policy(unattended.with_checkpoint(false), "")),
        ("checkpointed", policy(covered(unattended), "")),
    ];
    assert!(compare(include_str!("evasion/destroys.txt"), &policies) > 80);
}
