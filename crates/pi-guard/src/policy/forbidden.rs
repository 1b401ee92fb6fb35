//! Programs that the sandbox must not execute, however a command spells them.

use std::path::{Path, PathBuf};

use super::Policy;
use crate::Decision;
use crate::programs::{self, Trait};

impl Policy {
    /// Returns the files of programs that are forbidden with any arguments: `files` returns those of
    /// a name.
    #[must_use]
    pub fn forbidden_programs(&self, files: &dyn Fn(&str) -> Vec<PathBuf>) -> Vec<PathBuf> {
        let rules = self.rules.commands.iter();
        let whole =
            rules.filter(|rule| rule.decision == Decision::Forbid && rule.prefix.len() == 1);
        let mut programs: Vec<PathBuf> =
            whole.flat_map(|rule| &rule.prefix[0]).flat_map(|name| files(name)).collect();
        programs.retain(|path| !is_multi_call(path));
        programs.sort();
        programs.dedup();
        programs
    }
}

pub(super) fn is_multi_call(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| programs::find(name).has(Trait::MultiCall))
}

#[cfg(test)]
mod tests {
    use super::super::{Defaults, Layer, RuleFile};
    use super::*;

    #[test]
    fn only_programs_without_arguments_are_listed() {
        let text = r#"
            [[command]]
            prefix = [["cat", "tac"]]
            decision = "forbid"
            [[command]]
            prefix = ["git", "push"]
            decision = "forbid"
            [[command]]
            prefix = ["ls"]
            decision = "ask"
            [[command]]
            prefix = ["sh"]
            decision = "forbid"
        "#;
        let mut policy = Policy::new(Defaults::explore());
        policy.add(RuleFile::parse("x", text, Layer::User).unwrap());
        let files = |name: &str| match name {
            "sh" => vec![PathBuf::from("/bin/busybox")],
            "tac" => vec![],
            name => vec![Path::new("/usr/bin").join(name), Path::new("/opt").join(name)],
        };
        let listed = policy.forbidden_programs(&files);
        assert_eq!(listed, [Path::new("/opt/cat"), Path::new("/usr/bin/cat")]);
    }
}
