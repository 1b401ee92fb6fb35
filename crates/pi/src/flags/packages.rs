//! The commands for packages.

use super::commands::{APPROVE, JSON, NO_APPROVE};
use super::{Command, Flag, Group};

pub(super) const LOCAL: Flag =
    Flag::new("local", Group::General, "Use the settings of this project (.pi/settings.json)")
        .short("l");

pub(super) const INSTALL: Command = Command::new("install", "Install a package")
    .words("SOURCE", 1, 1)
    .files()
    .details(
        "SOURCE is npm:NAME[@VERSION], git:HOST/USER/REPOSITORY[@REF], an https:// or ssh:// URL \
         of a git repository, or a path. The package is installed without npm and without Node; \
         its install scripts do not run. The source is added to `packages` in the settings. \
         Extensions of a package run with your rights: install only what you trust.",
    )
    .examples(&[
        "pi install npm:@foo/bar",
        "pi install npm:@foo/bar@1.2.3",
        "pi install git:github.com/user/repo@v1",
        "pi install ./local/path",
    ])
    .flags(&[LOCAL, APPROVE, NO_APPROVE]);

pub(super) const REMOVE: Command = Command::new("remove", "Remove a package")
    .words("SOURCE", 1, 1)
    .details("SOURCE is that of `pi list`; the version does not matter. A path stays on the disk.")
    .examples(&["pi remove npm:@foo/bar"])
    .flags(&[LOCAL, APPROVE, NO_APPROVE]);

pub(super) const UNINSTALL: Command = Command::new("uninstall", "Same as remove")
    .words("SOURCE", 1, 1)
    .flags(&[LOCAL, APPROVE, NO_APPROVE]);

pub(super) const UPDATE: Command = Command::new("update", "Update pi itself, or packages")
    .words("[SOURCE]", 0, 1)
    .details(
        "Without SOURCE and options, replaces this program by the newest release, if the install \
         script or an archive brought it; the signature and the checksum of the release are \
         verified first. PI_RELEASES names another server, PI_RELEASE_KEY the public key for \
         builds without one. With SOURCE or --extensions, updates packages: exact versions and \
         git refs stay as they are; ranges are followed. In offline mode nothing is updated.",
    )
    .examples(&["pi update", "pi update --extensions", "pi update npm:@foo/bar"])
    .flags(&[
        Flag::new("extensions", Group::General, "Update all packages"),
        Flag::new("extension", Group::General, "Update one package").takes("SOURCE"),
        Flag::new("all", Group::General, "Update pi itself and all packages"),
        Flag::new("self", Group::General, "Update pi itself"),
        Flag::new("models", Group::General, "Update the model catalog, as `pi models update`"),
        Flag::new(
            "force",
            Group::General,
            "Install the newest release of pi even if it is not newer",
        ),
        APPROVE,
        NO_APPROVE,
    ]);

pub(super) const LIST: Command = Command::new("list", "List packages")
    .details(
        "Lists the packages of the settings, with their directory if they are installed. \
         (filtered) marks a package of which the settings select resources.",
    )
    .flags(&[JSON, APPROVE, NO_APPROVE]);

pub(super) const RESOURCES: Command =
    Command::new("resources", "Switch the resources of packages on and off, on a screen")
        .details(
            "Space switches a resource, Tab changes between your settings and those of the \
             project. The selection is written to `packages` in the settings as `+path` and \
             `-path`. This is what `pi config` does without a command.",
        )
        .flags(&[LOCAL, APPROVE, NO_APPROVE]);
