//! Programs of the operating system: files, text, disks, processes, packages and the network.

use super::arguments::{ANY, BARE, LITERAL};
use super::{
    Approval, Harm, Program, Runs, Target, Trait, Writes, catastrophe, harm, program, reader,
    runner,
};

const REMOVES_VITAL: &str = "it removes system files or the home directory";
const OVERWRITES_DISK: &str = "it overwrites a disk";
const DELETES: &str = "it deletes files permanently";
pub(super) const TO_DISK: Harm = catastrophe(ANY, Target::Disk, OVERWRITES_DISK);

/// An entry of programs that write to every operand.
const fn writer(names: &'static str) -> Program {
    Program { writes: Writes::All, ..program(names) }
}

pub(super) const PROGRAMS: &[Program] = &[
    // Programs that only read.
    reader(
        "arch b2sum basename bc bzcat cal cksum cmp column comm cut df diff dirname du egrep \
         expand expr factor fgrep fmt fold free getconf getent groups head hexdump join jq locale \
         look ls lsblk lscpu md5sum ncal netstat nl numfmt od paste pgrep pidof pr ps readelf \
         readlink realpath rev sha1sum sha224sum sha256sum sha384sum sha512sum sleep strings sum \
         tac tail tput tr tsort tty uname unexpand uptime vmstat w whereis which who whoami xzcat \
         zcat zgrep",
    ),
    Program { traits: &[Trait::NamedByVariables], ..reader("cat") },
    Program { prints_number: &[ANY.only("-ug").with(&["-u -g"]).operands(0, 0)], ..reader("id") },
    Program { prints_number: &[BARE], ..reader("nproc") },
    Program { prints_number: &[ANY.only("")], ..reader("seq") },
    Program {
        prints_number: &[ANY.words(&["-c", "%s %Y %a %h"]).only("").operands(1, 1)],
        ..reader("stat")
    },
    Program { prints_number: &[BARE.only("-lcwmL")], ..reader("wc") },
    Program {
        // With several files it prints their names too.
        prints_number: &[ANY.words(&["-c -ci -cE -cv"]).only("").operands(1, 2)],
        traits: &[Trait::Searches],
        ..reader("grep")
    },
    // Programs that only read, unless an option says otherwise.
    Program { reads: &[ANY.without("-o --output")], ..program("base64 shuf") },
    Program {
        reads: &[ANY.without("-s --set [0123456789.]")],
        prints_number: &[BARE.words(&["+%s +%s%N +%s%3N"])],
        ..program("date")
    },
    Program {
        reads: &[ANY.without("-C --compile -z -Z")],
        writes: Writes::Nothing,
        ..program("file")
    },
    Program { reads: &[ANY.without("-F --file -b --boot").operands(0, 0)], ..program("hostname") },
    Program { reads: &[ANY.without("-D")], ..program("lsof") },
    Program { reads: &[ANY.without("-K --kill")], ..program("ss") },
    Program { reads: &[ANY.without("-o -R --output")], ..program("tree") },
    Program { reads: &[LITERAL.operands(0, 1)], ..program("uniq") },
    Program { reads: &[ANY.without("-r -revert").operands(0, 1)], ..program("xxd") },
    Program { reads: &[ANY.without("-i --inplace --in-place -s --split-exp")], ..program("yq") },
    Program {
        reads: &[ANY.without("-o --output --compress-program -T --temporary-directory")],
        runs_with: "--compress-program",
        ..writer("sort")
    },
    Program {
        reads: &[ANY.without("-delete -fprint -fprint0 -fprintf -fls -files0-from")],
        harms: &[
            catastrophe(
                ANY.with(&["-delete rm shred"]).without("-name"),
                Target::Vital,
                REMOVES_VITAL,
            ),
            harm(ANY.with(&["-delete"]), DELETES),
        ],
        synonyms: &["-exec -execdir"],
        traits: &[Trait::Searches],
        ..runner("find", Runs::Actions("-exec -execdir -ok -okdir"))
    },
    Program {
        reads: &[LITERAL],
        traits: &[Trait::Searches],
        ..runner("fd fdfind", Runs::Actions("-x --exec -X --exec-batch"))
    },
    Program {
        reads: &[ANY.without("--pre --pre-glob --hostname-bin -z --search-zip")],
        runs_with: "--pre --hostname-bin",
        traits: &[Trait::Searches],
        ..program("rg")
    },
    Program {
        reads: &[ANY.only(
            "-nErsuz -e= --quiet --silent --regexp-extended --null-data --debug --expression=",
        )],
        writes: Writes::All,
        synonyms: &["-i --in-place"],
        ..runner("gsed sed", Runs::Sed)
    },
    Program { reads: &[ANY], ..runner("awk gawk mawk nawk", Runs::Awk) },
    // Programs that change files.
    Program {
        writes: Writes::All,
        harms: &[
            catastrophe(ANY.with(&["-r -R --recursive"]), Target::Vital, REMOVES_VITAL),
            catastrophe(ANY.with(&["--no-preserve-root"]), Target::Any, REMOVES_VITAL),
            harm(ANY.with(&["-r -R -f --recursive --force"]), DELETES),
        ],
        synonyms: &["-r -R --recursive", "-f --force"],
        traits: &[Trait::ChangesTrees],
        ..program("rm")
    },
    Program {
        writes: Writes::All,
        harms: &[
            catastrophe(ANY, Target::VitalSource, "it moves system files or the home directory"),
            TO_DISK,
        ],
        synonyms: &["-f --force"],
        traits: &[Trait::ChangesTrees, Trait::Copies],
        ..program("mv")
    },
    Program {
        writes: Writes::Last,
        harms: &[TO_DISK],
        synonyms: &["-r -R -a --recursive --archive", "-f --force"],
        traits: &[Trait::Copies],
        ..program("cp ditto gcp")
    },
    Program {
        writes: Writes::Last,
        harms: &[TO_DISK],
        traits: &[Trait::Copies],
        ..program("ginstall install")
    },
    Program {
        writes: Writes::Last,
        harms: &[TO_DISK],
        synonyms: &["-f --force"],
        traits: &[Trait::ChangesTrees, Trait::Copies],
        ..program("link ln symlink")
    },
    Program { harms: &[TO_DISK], traits: &[Trait::Copies], ..writer("dd") },
    Program { harms: &[TO_DISK], ..writer("tee") },
    Program {
        harms: &[TO_DISK, harm(ANY, "it destroys files")],
        traits: &[Trait::ChangesTrees],
        ..writer("shred")
    },
    Program { harms: &[harm(ANY, "it destroys files")], ..writer("srm truncate unlink") },
    Program {
        harms: &[
            catastrophe(
                ANY.with(&["-R --recursive"]),
                Target::Vital,
                "it changes permissions of the whole system",
            ),
            harm(ANY.with(&["-R --recursive"]), "it changes permissions of many files"),
        ],
        synonyms: &["-R --recursive"],
        traits: &[Trait::ChangesTrees],
        ..writer("chgrp chmod chown")
    },
    Program { traits: &[Trait::ChangesTrees], approval: Approval::Program, ..writer("rmdir") },
    Program { approval: Approval::Program, ..writer("mkdir touch") },
    writer("chattr dos2unix mkfifo mknod mktemp mmv patch setfacl sponge trash unix2dos"),
    Program { approval: Approval::Program, ..writer("bzip2 gunzip gzip xz zstd") },
    Program { writes: Writes::All, ..runner("gio", Runs::Unknown) },
    // Takes a program in Perl.
    Program { writes: Writes::All, ..runner("rename", Runs::Code) },
    Program { runs_with: "--filter", ..program("gsplit split") },
    // Archives. To tar, the first argument is a bundle of options even without a dash, and a name
    // with a colon is on another machine.
    Program {
        reads: &[ANY.words(&["[-tvfzjJ]"]).only("")],
        writes: Writes::Options("-C --directory -f --file"),
        directory_options: "-C --directory",
        traits: &[Trait::Copies],
        ..runner(
            "gtar tar",
            Runs::Hidden(&[
                ANY.words(&["[-cxtruvfzjJZCpkhoamOPS]"]).only(TAR).without("*:*"),
                ANY.words(&["--create --extract --list --append --update"])
                    .only(TAR)
                    .without("*:*"),
            ]),
        )
    },
    Program {
        runs_with: "-TT --unzip-command",
        traits: &[Trait::Copies],
        approval: Approval::Program,
        ..program("zip")
    },
    Program { writes: Writes::Options("-d"), approval: Approval::Program, ..program("unzip") },
    Program { traits: &[Trait::Copies], ..program("7z objcopy") },
    runner("alien bsdtar cpio dpkg-deb pax rpm rpmbuild star", Runs::Hidden(&[])),
    // Disks, the machine and its processes.
    Program {
        harms: &[catastrophe(ANY, Target::Any, OVERWRITES_DISK)],
        ..program("blkdiscard mkfs mkfs.* mkswap wipefs")
    },
    Program {
        harms: &[harm(ANY, "it changes the partitions of a disk")],
        ..program("cfdisk fdisk gdisk parted sfdisk sgdisk")
    },
    Program {
        harms: &[harm(ANY, "it stops the machine")],
        ..program("halt init poweroff reboot shutdown telinit")
    },
    Program {
        harms: &[harm(ANY.with(&["-1"]), "it stops every process")],
        approval: Approval::Exact,
        ..program("kill killall pkill")
    },
    Program {
        subcommands: &[Program {
            reads: &[ANY.without("-H --host -M --machine")],
            ..program("cat is-active is-enabled is-failed list-timers list-units show status")
        }],
        ..runner("systemctl", Runs::Hidden(&[]))
    },
    Program { runs_with: "--pager", ..program("bat delta journalctl") },
    Program {
        reads: &[BARE.only("-l").with(&["-l"])],
        writes: Writes::All,
        harms: &[harm(ANY.with(&["-r"]), "it removes all scheduled jobs")],
        ..runner("crontab", Runs::Hidden(&[]))
    },
    runner(
        "apt-key flatpak logrotate snap sudoedit update-alternatives vipw visudo",
        Runs::Hidden(&[]),
    ),
    program("apropos logger notify-send say"),
    // The network.
    Program {
        writes: Writes::Options(
            "-o --output -O --output-dir -D --dump-header -c --cookie-jar --trace",
        ),
        runs_with: "-K --config --engine",
        synonyms: &["-k --insecure", "-d --data", "-T --upload-file"],
        traits: &[Trait::Connects],
        ..program("curl")
    },
    Program {
        writes: Writes::Options("-O --output-document -P --directory-prefix -o --output-file -a"),
        runs_with: "--use-askpass -e --execute --config",
        traits: &[Trait::Connects],
        ..program("wget")
    },
    runner("nc ncat netcat", Runs::Hidden(&[ANY.with(&["-z"]).without("-e -c --*")])),
    Program {
        writes: Writes::Last,
        harms: &[
            catastrophe(ANY.with(&["--del*"]), Target::VitalDestination, REMOVES_VITAL),
            harm(ANY.with(&["--del*"]), DELETES),
        ],
        traits: &[Trait::ChangesTrees, Trait::Copies],
        ..runner(
            "rsync",
            Runs::Hidden(&[
                ANY.without("-e -M --rsh --rsync-path --daemon --config --early-input *:*")
            ]),
        )
    },
    Program { writes: Writes::Last, traits: &[Trait::Copies], ..runner("scp", Runs::Hidden(&[])) },
    Program { writes: Writes::Last, ..runner("rclone", Runs::Hidden(&[])) },
    runner("ngrok nmap sftp tcpdump tshark wireshark msfconsole", Runs::Hidden(&[])),
    Program { runs_with: "-engine -provider-path engine", ..program("openssl") },
    Program { writes: Writes::Nothing, ..program("gpg identify ssh-add ssh-keygen") },
    Program { writes: Writes::Nothing, ..runner("exiftool", Runs::Unknown) },
    runner("gpg-agent keychain", Runs::Hidden(&[])),
    // Packages of the system.
    Program {
        runs_with: "-o --option -c --config-file",
        approval: Approval::Subcommand,
        ..program("apt apt-get")
    },
    Program { approval: Approval::Subcommand, ..program("apk brew dnf pacman yum") },
    Program {
        runs_with: "--pre-invoke --post-invoke --status-logger --force-script-chrootless -i --install",
        ..program("dpkg")
    },
    Program { traits: &[Trait::MultiCall], ..runner("coreutils uutils", Runs::Unknown) },
    // Editors, pagers and clients with a language of their own.
    Program {
        writes: Writes::All,
        ..runner("ed emacs ex hx kak micro nano nvim pico vi vim", Runs::Code)
    },
    Program {
        writes: Writes::Nothing,
        traits: &[Trait::NamedByVariables],
        ..runner("less more", Runs::Code)
    },
    Program { writes: Writes::Nothing, ..runner("man", Runs::Code) },
    Program { writes: Writes::Nothing, ..runner("open xdg-open", Runs::Hidden(&[])) },
    runner("editor pager sensible-editor sensible-pager", Runs::Hidden(&[])),
    runner(
        "dc elinks emacsclient ftp fzf gnuplot helix info joe lftp links lynx mail mailx mariadb \
         mongo mongosh most mutt mysql pg psql red redis-cli sqlite sqlite3 telnet view w3m",
        Runs::Code,
    ),
];

const TAR: &str = "-cxtruvfzjJZpkhoamOPS -C= --create --extract --list --file= --gzip --gunzip --xz \
    --bzip2 --zstd --verbose --directory= --exclude= --strip-components= --transform= \
    --no-same-owner --keep-old-files --append --update --exclude-vcs --wildcards --auto-compress";
