//! Which projects may bring settings and resources.

use std::fs;

use pi_coding_agent::config::settings::ProjectTrustDefault::{self, Always, Ask, Never};
use pi_coding_agent::config::{Trust, TrustQuestion, TrustStore, needs_trust};

use super::place::Place;

#[test]
fn the_order_of_decisions() {
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
fn what_needs_trust() {
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
        let place = Place::new();
        for name in *made {
            let path = place.path(name);
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
        }
        let home = place.environment.home.as_deref();
        assert_eq!(needs_trust(&place.environment.cwd, home), *expected, "{made:?}");
    }
    let place = Place::new();
    let home = place.environment.home.unwrap();
    fs::create_dir_all(home.join(".agents/skills")).unwrap();
    fs::create_dir_all(home.join("work/project")).unwrap();
    assert!(!needs_trust(&home, Some(&home)), "the user's own skills");
    assert!(!needs_trust(&home.join("work/project"), Some(&home)), "seen from below");
}

#[test]
#[cfg(unix)]
fn decisions_are_about_directories_not_names() {
    let place = Place::new();
    let link = place.path("link");
    std::os::unix::fs::symlink(&place.environment.cwd, &link).unwrap();
    let store = TrustStore::new(place.agent());
    store.record(&[(&link, Some(true))]).unwrap();
    for directory in [&link, &place.environment.cwd] {
        let entry = store.find(directory).unwrap().unwrap();
        assert_eq!((entry.path, entry.trusted), (place.environment.cwd.clone(), true));
    }
    store.record(&[(&place.environment.cwd, None)]).unwrap();
    assert_eq!(store.find(&link).unwrap(), None);
    assert_eq!(fs::read_to_string(place.agent().join("trust.json")).unwrap(), "{}\n");
}
