//! Scripts: the policy decides on any text and never allows a forbidden command.

use std::path::Path;
use std::sync::OnceLock;

use pi_guard::Decision;
use pi_guard::policy::{Defaults, Layer, Policy, PolicyContext, RuleFile};

/// Any text gets a decision. With a forbidden command before it, the text is never allowed.
pub fn policy_check(data: &[u8]) {
    let Ok(script) = std::str::from_utf8(data) else { return };
    let policy = policy();
    let context = PolicyContext::new(Path::new("/w")).with_home(Some(Path::new("/h")));
    let verdict = policy.check(script, &context);
    assert!(!verdict.explain().is_empty());
    let after = policy.check(&format!("forbidden\n{script}"), &context);
    assert_ne!(after.decision, Decision::Allow, "text after a forbidden command");
    // Rule files are text that may come from a project.
    let _ = RuleFile::parse("x", script, Layer::Project);
}

fn policy() -> &'static Policy {
    static POLICY: OnceLock<Policy> = OnceLock::new();
    POLICY.get_or_init(|| {
        let rules = "[[command]]\nprefix = [\"forbidden\"]\ndecision = \"forbid\"\n\
            [[command]]\nprefix = [\"git\", \"push\"]\ndecision = \"forbid\"\n\
            [[path]]\npaths = [\"**/.env\"]\naccess = \"any\"\ndecision = \"forbid\"";
        let mut policy = Policy::new(Defaults::careful());
        policy.add(RuleFile::parse("r", rules, Layer::User).expect("rules"));
        policy
    })
}
