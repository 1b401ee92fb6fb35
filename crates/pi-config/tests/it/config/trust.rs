//! Trust in projects.

use std::fs;

use pi_config::settings::ProjectTrustDefault::{self, Always, Ask, Never};
use pi_config::{Trust, TrustQuestion, TrustStore, needs_trust};

use super::env::ConfigEnv;

#[test]
fn decisions_have_an_order_of_precedence() {
    type Case = (Option<bool>, bool, Option<bool>, Option<bool>, ProjectTrustDefault, Trust);
    let cases: &[Case] = &[
        // Flag, needed, extension, saved, default.
        (Some(true), true, Some(false), Some(false), Never, Trust::Trusted),
        (Some(false), true, Some(true), Some(true), Always, Trust::Untrusted),
        (Some(false), false, None, None, Always, Trust::Untrusted),
        (None, false, None, None, Never, Trust::Trusted),
        (None, false, None, Some(false), Always, Trust::Untrusted),
        (None, true, Some(true), Some(false), Never, Trust::Trusted),
        (None, true, None, Some(false), Always, Trust::Untrusted),
        (None, true, None, Some(true), Never, Trust::Trusted),
        (None, true, None, None, Always, Trust::Trusted),
        (None, true, None, None, Never, Trust::Untrusted),
        (None, true, None, None, Ask, Trust::Ask),
    ];
    for &(flag, needed, extension, saved, default, expected) in cases {
        let question = TrustQuestion { flag, needed, extension, saved, default };
        assert_eq!(question.decide(), expected, "{question:?}");
    }
}

/// Observed from pi 1.5.0.
#[test]
fn only_some_files_need_trust() {
    let cases: &[(&[&str], bool)] = &[
        (&[], false),
        (&["project/.pi/"], false),
        (&["project/AGENTS.md"], false),
        (&["project/.pi/models.json", "project/.pi/keybindings.json", "project/.pi/npm/"], false),
        (&["project/.pi/settings.json"], true),
        (&["project/.pi/settings.json/"], true),
        (&["project/.pi/extensions/"], true),
        (&["project/.pi/SYSTEM.md"], true),
        (&["project/.pi/APPEND_SYSTEM.md"], true),
        (&["project/.pi/mcp.json"], true),
        (&["project/.pi/themes/"], true),
        (&["project/.agents/skills/"], true),
        (&["project/.agents/skills"], true),
        (&[".agents/skills/"], true),
        (&["home/.agents/skills/"], false),
    ];
    for (made, expected) in cases {
        let env = ConfigEnv::new();
        for name in *made {
            let path = env.path(name);
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
        }
        let home = env.environment.home.as_deref();
        assert_eq!(needs_trust(&env.environment.cwd, home), *expected, "{made:?}");
    }
    let env = ConfigEnv::new();
    let home = env.environment.home.unwrap();
    fs::create_dir_all(home.join(".agents/skills")).unwrap();
    fs::create_dir_all(home.join("work/project")).unwrap();
    assert!(!needs_trust(&home, Some(&home)), "the user's own skills");
    assert!(!needs_trust(&home.join("work/project"), Some(&home)), "seen from below");
}

#[test]
#[cfg(unix)]
fn decisions_apply_to_directories_and_not_to_names() {
    let env = ConfigEnv::new();
    let link = env.path("link");
    std::os::unix::fs::symlink(&env.environment.cwd, &link).unwrap();
    let store = TrustStore::new(env.agent());
    store.record(&link, Some(true)).unwrap();
    for directory in [&link, &env.environment.cwd] {
        let entry = store.find(directory).unwrap().unwrap();
        assert_eq!((entry.path, entry.trusted), (env.environment.cwd.clone(), true));
    }
    store.record(&env.environment.cwd, None).unwrap();
    assert_eq!(store.find(&link).unwrap(), None);
    assert_eq!(fs::read_to_string(env.agent().join("trust.json")).unwrap(), "{}\n");
}
