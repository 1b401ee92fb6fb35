//! Programs of the operating system: files, text, disks, processes, packages and the network.

use super::arguments::{ANY, BARE, LITERAL};
use super::{
    Approval, HIDDEN, Harm, Program, READS, Runs, Target, Trait, Writes, catastrophe, harm,
    programs,
};

const REMOVES_VITAL: &str = "it removes system files or the home directory";
const CHANGES_RIGHTS: &str = "it changes permissions of the whole system";
const OVERWRITES_DISK: &str = "it overwrites a disk";
const DELETES: &str = "it deletes files permanently";
pub(super) const TO_DISK: Harm = catastrophe(ANY, Target::Disk, OVERWRITES_DISK);
const TAR: &str = "-cxtruvfzjJZpkhoamOPS -C= --create --extract --list --file= --gzip --gunzip \
    --xz --bzip2 --zstd --verbose --directory= --exclude= --strip-components= --transform= \
    --no-same-owner --keep-old-files --append --update --exclude-vcs --wildcards --auto-compress";

pub(super) const PROGRAMS: &[Program] = programs! {
    // Programs that only read, some of them unless an option says otherwise.
    "arch b2sum basename bc bzcat cal cksum cmp column comm cut df diff dirname du egrep expand \
     expr factor fgrep fmt fold free getconf getent groups head hexdump join jq locale look ls \
     lsblk lscpu md5sum ncal netstat nl numfmt od paste pgrep pidof pr ps readelf readlink \
     realpath rev sha1sum sha224sum sha256sum sha384sum sha512sum sleep strings sum tac tail \
     tput tr tsort tty uname unexpand uptime vmstat w whereis which who whoami xzcat zcat zgrep" { reads: READS }
    "cat" { reads: READS, traits: &[Trait::NamedByVariables] }
    "id" { reads: READS, prints_number: &[BARE.only("-ug").with("-u -g")] }
    "nproc" { reads: READS, prints_number: &[BARE] }
    "seq" { reads: READS, prints_number: &[ANY.only("")] }
    "stat" { reads: READS,
        prints_number: &[ANY.words(&["-c", "%s %Y %a %h"]).only("").operands(1, 1)] }
    "wc" { reads: READS, prints_number: &[BARE.only("-lcwmL")] }
    // With several files it prints their names too.
    "grep" { reads: READS, traits: &[Trait::Searches],
        prints_number: &[ANY.words(&["-c -ci -cE -cv"]).only("").operands(1, 2)] }
    "base64 shuf" { reads: &[ANY.without("-o --output")] }
    "date" { reads: &[ANY.without("-s --set [0123456789.]")],
        prints_number: &[BARE.words(&["+%s +%s%N +%s%3N"])] }
    "file" { reads: &[ANY.without("-C --compile -z -Z")], writes: Writes::Nothing }
    "hostname" { reads: &[ANY.without("-F --file -b --boot").operands(0, 0)] }
    "lsof" { reads: &[ANY.without("-D")] }
    "ss" { reads: &[ANY.without("-K --kill")] }
    "tree" { reads: &[ANY.without("-o -R --output")] }
    "uniq" { reads: &[LITERAL.operands(0, 1)] }
    "xxd" { reads: &[ANY.without("-r -revert").operands(0, 1)] }
    "yq" { reads: &[ANY.without("-i --inplace --in-place -s --split-exp")] }
    "sort" { reads: &[ANY.without("-o --output --compress-program -T --temporary-directory")],
        runs_with: "--compress-program", writes: Writes::All }
    "find" { runs: Runs::Actions("-exec -execdir -ok -okdir"), traits: &[Trait::Searches],
        reads: &[ANY.without("-delete -fprint -fprint0 -fprintf -fls -files0-from")],
        harms: &[
            catastrophe(
                ANY.with("-delete rm shred").without("-name"), Target::Vital, REMOVES_VITAL),
            harm(ANY.with("-delete"), DELETES),
        ],
        synonyms: &["-exec -execdir"] }
    "fd fdfind" { runs: Runs::Actions("-x --exec -X --exec-batch"), reads: &[LITERAL],
        traits: &[Trait::Searches] }
    "rg" { reads: &[ANY.without("--pre --pre-glob --hostname-bin -z --search-zip")],
        runs_with: "--pre --hostname-bin", traits: &[Trait::Searches] }
    "gsed sed" { runs: Runs::Sed, writes: Writes::All, synonyms: &["-i --in-place"],
        reads: &[ANY.only("-nErsuz -e= --quiet --silent --regexp-extended --null-data --debug \
            --expression=")] }
    "awk gawk mawk nawk" { runs: Runs::Awk, reads: READS }

    // Programs that change files.
    "rm" { writes: Writes::All, traits: &[Trait::ChangesTrees],
        harms: &[
            catastrophe(ANY.with("-r -R --recursive"), Target::Vital, REMOVES_VITAL),
            catastrophe(ANY.with("--no-preserve-root"), Target::Any, REMOVES_VITAL),
            harm(ANY.with("-r -R -f --recursive --force"), DELETES),
        ],
        synonyms: &["-r -R --recursive", "-f --force"] }
    "mv" { writes: Writes::All, traits: &[Trait::ChangesTrees, Trait::Copies],
        harms: &[TO_DISK, catastrophe(ANY, Target::VitalSource, REMOVES_VITAL)],
        synonyms: &["-f --force"] }
    "cp ditto gcp" { writes: Writes::Last, traits: &[Trait::Copies], harms: &[TO_DISK],
        synonyms: &["-r -R -a --recursive --archive", "-f --force"] }
    "ginstall install" { writes: Writes::Last, traits: &[Trait::Copies], harms: &[TO_DISK] }
    "link ln symlink" { writes: Writes::Last, traits: &[Trait::ChangesTrees, Trait::Copies],
        harms: &[TO_DISK], synonyms: &["-f --force"] }
    "dd" { writes: Writes::All, traits: &[Trait::Copies], harms: &[TO_DISK] }
    "tee" { writes: Writes::All, harms: &[TO_DISK] }
    "shred" { writes: Writes::All, traits: &[Trait::ChangesTrees],
        harms: &[TO_DISK, harm(ANY, "it destroys files")] }
    "srm truncate unlink" { writes: Writes::All, harms: &[harm(ANY, "it destroys files")] }
    "chgrp chmod chown" { writes: Writes::All, traits: &[Trait::ChangesTrees],
        harms: &[
            catastrophe(ANY.with("-R --recursive"), Target::Vital, CHANGES_RIGHTS),
            harm(ANY.with("-R --recursive"), "it changes permissions of many files"),
        ],
        synonyms: &["-R --recursive"] }
    "rmdir" { writes: Writes::All, traits: &[Trait::ChangesTrees], approval: Approval::Program }
    "bzip2 gunzip gzip mkdir touch xz zstd" { writes: Writes::All, approval: Approval::Program }
    "chattr dos2unix mkfifo mknod mktemp mmv patch setfacl sponge trash unix2dos" {
        writes: Writes::All }
    "gio" { runs: Runs::Unknown, writes: Writes::All }
    // Takes a program in Perl.
    "rename" { runs: Runs::Code, writes: Writes::All }
    "gsplit split" { runs_with: "--filter" }
    // The first argument is a bundle of options even without a dash, and a name with a colon is
    // on another machine.
    "gtar tar" { reads: &[ANY.words(&["[-tvfzjJ]"]).only("")], traits: &[Trait::Copies],
        runs: Runs::Hidden(&[
            ANY.words(&["[-cxtruvfzjJZCpkhoamOPS]"]).only(TAR).without("*:*"),
            ANY.words(&["--create --extract --list --append --update"]).only(TAR).without("*:*"),
        ]),
        writes: Writes::Options("-C --directory -f --file") }
    "zip" { runs_with: "-TT --unzip-command", traits: &[Trait::Copies],
        approval: Approval::Program }
    "unzip" { writes: Writes::Options("-d"), approval: Approval::Program }
    "7z objcopy" { traits: &[Trait::Copies] }

    // Disks, the machine and its processes.
    "blkdiscard mkfs mkfs.* mkswap wipefs" {
        harms: &[catastrophe(ANY, Target::Any, OVERWRITES_DISK)] }
    "cfdisk fdisk gdisk parted sfdisk sgdisk" {
        harms: &[harm(ANY, "it changes the partitions of a disk")] }
    "mount" { runs: Runs::Unknown, approval: Approval::Exact }
    "halt init poweroff reboot shutdown telinit" { harms: &[harm(ANY, "it stops the machine")] }
    "kill killall pkill" { harms: &[harm(ANY.with("-1"), "it stops every process")] }
    "systemctl" { runs: HIDDEN, subcommands: programs! {
        "cat is-active is-enabled is-failed list-timers list-units show status" {
            reads: &[ANY.without("-H --host -M --machine")] }
    } }
    "bat delta journalctl" { runs_with: "--pager" }
    "crontab" { runs: HIDDEN, reads: &[BARE.only("-l").with("-l")], writes: Writes::All,
        harms: &[harm(ANY.with("-r"), "it removes all scheduled jobs")] }
    "apropos logger notify-send say" {}

    // The network.
    "curl" { runs_with: "-K --config --engine",
        writes: Writes::Options(
            "-o --output -O --output-dir -D --dump-header -c --cookie-jar --trace"),
        synonyms: &["-k --insecure", "-d --data", "-T --upload-file"] }
    "wget" { runs_with: "--use-askpass -e --execute --config",
        writes: Writes::Options("-O --output-document -P --directory-prefix -o --output-file -a") }
    "nc ncat netcat" { runs: Runs::Hidden(&[ANY.with("-z").without("-e -c --*")]) }
    "rsync" { writes: Writes::Last, traits: &[Trait::ChangesTrees, Trait::Copies],
        runs: Runs::Hidden(&[
            ANY.without("-e -M --rsh --rsync-path --daemon --config --early-input *:*")]),
        harms: &[
            catastrophe(ANY.with("--del*"), Target::VitalDestination, REMOVES_VITAL),
            harm(ANY.with("--del*"), DELETES),
        ] }
    "scp" { runs: HIDDEN, writes: Writes::Last, traits: &[Trait::Copies] }
    "rclone" { runs: HIDDEN, writes: Writes::Last }
    "openssl" { runs_with: "-engine -provider-path engine" }
    "gpg identify ssh-add ssh-keygen" { writes: Writes::Nothing }
    "exiftool" { runs: Runs::Unknown, writes: Writes::Nothing }

    // Packages of the system.
    "apt apt-get" { runs_with: "-o --option -c --config-file", approval: Approval::Subcommand }
    "apk brew dnf pacman yum" { approval: Approval::Subcommand }
    "dpkg" { runs_with: "--pre-invoke --post-invoke --status-logger --force-script-chrootless -i \
        --install" }
    "coreutils uutils" { runs: Runs::Unknown, traits: &[Trait::MultiCall] }
    "alien apt-key bsdtar cpio dpkg-deb flatpak gpg-agent keychain logrotate msfconsole ngrok \
     nmap pax rpm rpmbuild sftp snap star sudoedit tcpdump tshark update-alternatives vipw \
     visudo wireshark editor pager sensible-editor sensible-pager" { runs: HIDDEN }

    // Editors, pagers and clients with a language of their own.
    "ed emacs ex hx kak micro nano nvim pico vi vim" { runs: Runs::Code, writes: Writes::All }
    "less more" { runs: Runs::Code, writes: Writes::Nothing, traits: &[Trait::NamedByVariables] }
    "man" { runs: Runs::Code, writes: Writes::Nothing }
    "open xdg-open" { runs: HIDDEN, writes: Writes::Nothing }
    "dc elinks emacsclient ftp fzf gnuplot helix info joe lftp links lynx mail mailx mariadb \
     mongo mongosh most mutt mysql pg psql red redis-cli sqlite sqlite3 telnet view w3m" {
        runs: Runs::Code }
};
