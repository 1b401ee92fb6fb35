//! Programs of the operating system: files, text, disks, processes, packages and the network.

use super::arguments::{ANY, BARE};
use super::{
    Approval, Harm, Program, READS, Reach, Runs, Target, Trait, Writes, catastrophe, harm, programs,
};

const REMOVES_VITAL: &str = "it removes system files or the home directory";
const CHANGES_RIGHTS: &str = "it changes permissions of the whole system";
const OVERWRITES_DISK: &str = "it overwrites a disk";
const DELETES: &str = "it deletes files permanently";
pub(super) const TO_DISK: Harm = catastrophe(ANY, Target::Disk, OVERWRITES_DISK);
const TAR: &str = "-cxtruvfzjJZpkhoamOPS -C= --create --extract --list --file= --gzip --gunzip \
    --xz --bzip2 --zstd --verbose --directory= --exclude= --strip-components= --transform= \
    --no-same-owner --keep-old-files --append --update --exclude-vcs --wildcards --auto-compress";
/// Tests and actions of a search that writes nothing; the commands that it starts are separate.
const FIND: &str = "-LHP -name.= -iname.= -path.= -ipath.= -wholename.= -regex.= -iregex.= \
    -regextype.= -type.= -size.= -mtime.= -mmin.= -atime.= -amin.= -ctime.= -cmin.= -newer.= \
    -newermt.= -maxdepth.= -mindepth.= -perm.= -user.= -group.= -links.= -inum.= -samefile.= \
    -printf.= -empty. -print. -print0. -ls. -prune. -o. -a. -not. -and. -or. -depth. -xdev. \
    -mount. -follow. -true. -false. -quit. -executable. -readable. -writable.";
const RG: &str = "-0acFhHiIlLnNopPqsSuUvwx -ABCdeEfgjmMrtT= --after-context= --before-context= \
    --case-sensitive --color= --column --context= --count --count-matches --files \
    --files-with-matches --files-without-match --fixed-strings --follow --glob= --heading --hidden \
    --iglob= --ignore-case --invert-match --json --line-number --line-regexp --max-columns= \
    --max-count= --max-depth= --multiline --no-filename --no-heading --no-ignore --no-line-number \
    --null --only-matching --pcre2 --quiet --regexp= --replace= --smart-case --sort= --stats \
    --trim --type= --type-list --type-not= --vimgrep --with-filename --word-regexp";

pub(super) const PROGRAMS: &[Program] = programs! {
    // Programs that only read: with any option, or with the options that are listed.
    "arch b2sum basename bc bzcat cal cksum cmp column comm cut df diff dirname du egrep expand \
     expr factor fgrep fmt fold free getconf groups head hexdump join jq locale ls lsblk lscpu \
     md5sum nl numfmt od paste pgrep pidof pr ps readlink realpath rev sha1sum sha224sum sha256sum \
     sha384sum sha512sum sleep strings sum tac tail tr tsort tty uname unexpand uptime vmstat w \
     whereis which who whoami xzcat zcat" { reads: READS }
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
    "base64" { reads: &[ANY.only("-diD -w= --decode --ignore-garbage --wrap=")] }
    "date" { reads: &[ANY.only("-uRI -d= --date= --utc --iso-8601? --rfc-3339=")
            .without("[0123456789.]")],
        prints_number: &[BARE.words(&["+%s +%s%N +%s%3N"])] }
    "file" { reads: &[ANY.only("-bikLrs --brief --mime --mime-type")], writes: Writes::Nothing }
    "hostname" { reads: &[BARE.only("-sI")] }
    "lsof" { reads: &[ANY.only("-nPtiUl")] }
    "netstat ss" { reads: &[BARE.only("-tulnpaxrsieoH46")] }
    "nm objdump readelf size" { runs_with: "--plugin @*", reads: &[ANY.without("@*")
        .only("-aACdDghlnprsStTuvwWx -j= --demangle --defined-only --undefined-only")] }
    "shuf" { reads: &[ANY.only("-ezr -in= --head-count= --input-range=")] }
    "sort" { writes: Writes::All, runs_with: "--compress-program", reads: &[ANY.only(
        "-bcCdfghimMnrRsuVz -ktS= --key= --field-separator= --numeric-sort --reverse --unique \
         --human-numeric-sort --version-sort --ignore-case --stable --zero-terminated")] }
    "tree" { reads: &[ANY.only("-adDfFhilnpsuxCJX -LIP= --dirsfirst --noreport --gitignore --prune")] }
    "uniq" { reads: &[ANY.operands(0, 1)
        .only("-cdDiuz -fsw= --count --repeated --unique --ignore-case")] }
    "xxd" { reads: &[ANY.operands(0, 1).only("-p. -ps. -a. -b. -e. -i. -u. -c.= -g.= -l.= -s.=")] }
    "find" { runs: Runs::Actions("-exec -execdir -ok -okdir"), traits: &[Trait::Searches],
        writes: Writes::All, reads: &[ANY.only(FIND)], synonyms: &["-exec -execdir"],
        harms: &[
            catastrophe(
                ANY.with("-delete rm shred").without("-name"), Target::Vital, REMOVES_VITAL),
            harm(Reach::Uncovered, ANY.with("-delete")
                .without("-name -iname -path -ipath -wholename -regex -iregex -empty"), DELETES),
            harm(Reach::Workspace, ANY.with("-delete"), DELETES),
        ] }
    "fd fdfind" { runs: Runs::Actions("-x --exec -X --exec-batch"), traits: &[Trait::Searches],
        reads: &[ANY.only("-0aFgHiIlLpsu -cdeEjStT= --absolute-path --color= --exclude= --extension= \
            --follow --full-path --glob --hidden --ignore-case --max-depth= --no-ignore --type=")] }
    "rg" { reads: &[ANY.only(RG)], runs_with: "--pre --hostname-bin", traits: &[Trait::Searches] }
    "gsed sed" { runs: Runs::Sed, writes: Writes::All, synonyms: &["-i --in-place"],
        reads: &[ANY.only("-nErsuz -e= --quiet --silent --regexp-extended --null-data --debug \
            --expression=")] }
    "awk gawk mawk nawk" { runs: Runs::Awk, reads: READS }

    // Programs that change files.
    "rm" { writes: Writes::All, traits: &[Trait::ChangesTrees, Trait::Removes],
        harms: &[
            catastrophe(ANY.with("-r -R --recursive"), Target::Vital, REMOVES_VITAL),
            catastrophe(ANY.with("--no-preserve-root"), Target::Any, REMOVES_VITAL),
            harm(Reach::Workspace, ANY.with("-r -R -f --recursive --force"), DELETES),
        ],
        synonyms: &["-r -R --recursive", "-f --force"] }
    "mv" { writes: Writes::All, traits: &[Trait::ChangesTrees, Trait::Copies],
        harms: &[TO_DISK, catastrophe(ANY, Target::VitalSource, REMOVES_VITAL)],
        synonyms: &["-f --force"] }
    "cp ditto gcp" { writes: Writes::Last, traits: &[Trait::Copies], harms: &[TO_DISK],
        synonyms: &["-r -R -a --recursive --archive", "-f --force"] }
    "ginstall install" { runs_with: "--strip-program", writes: Writes::Last,
        traits: &[Trait::Copies], harms: &[TO_DISK] }
    "link ln symlink" { writes: Writes::Last, traits: &[Trait::ChangesTrees, Trait::Copies],
        harms: &[TO_DISK], synonyms: &["-f --force"] }
    "dd" { writes: Writes::All, traits: &[Trait::Copies], harms: &[TO_DISK] }
    "tee" { writes: Writes::All, harms: &[TO_DISK] }
    "shred" { writes: Writes::All, traits: &[Trait::ChangesTrees, Trait::Removes],
        harms: &[TO_DISK, harm(Reach::Workspace, ANY, "it destroys files")] }
    "srm truncate unlink" { writes: Writes::All, traits: &[Trait::Removes],
        harms: &[harm(Reach::Workspace, ANY, "it destroys files")] }
    "chgrp chmod chown" { writes: Writes::All, traits: &[Trait::ChangesTrees],
        harms: &[
            catastrophe(ANY.with("-R --recursive"), Target::Vital, CHANGES_RIGHTS),
            harm(Reach::Workspace, ANY.with("-R --recursive"), "it changes permissions of many files"),
        ],
        synonyms: &["-R --recursive"] }
    "rmdir" { writes: Writes::All, traits: &[Trait::ChangesTrees], approval: Approval::Program }
    "bzip2 gunzip gzip mkdir touch xz zstd" { writes: Writes::All, approval: Approval::Program }
    "chattr dos2unix mkfifo mknod mktemp patch setfacl sponge trash unix2dos" {
        writes: Writes::All }
    "gsplit split" { runs_with: "--filter" }
    // The first argument is a bundle of options even without a dash, and a name with a colon is
    // on another machine.
    "gtar tar" { reads: &[ANY.words(&["[-tvfzjJ]"]).only("").without("*:*")],
        traits: &[Trait::Copies], version: "--version",
        runs: Runs::Unknown(&[
            ANY.words(&["[-cxtruvfzjJZCpkhoamOPS]"]).only(TAR).without("*:*"),
            ANY.words(&["--create --extract --list --append --update"]).only(TAR).without("*:*"),
        ]),
        writes: Writes::Options("-C --directory -f --file") }
    "zip" { runs_with: "-TT --unzip-command", traits: &[Trait::Copies],
        harms: &[harm(Reach::Workspace, ANY.with("-d -m --delete --move"), DELETES)],
        approval: Approval::Program }
    "unzip" { writes: Writes::Options("-d"), approval: Approval::Program }

    // Disks, the machine and its processes.
    "blkdiscard mkfs mkfs.* mkswap wipefs" {
        harms: &[catastrophe(ANY, Target::Any, OVERWRITES_DISK)] }
    "cfdisk fdisk gdisk parted sfdisk sgdisk" {
        harms: &[harm(Reach::Outside, ANY, "it changes the partitions of a disk")] }
    "halt init poweroff reboot shutdown telinit" {
        harms: &[harm(Reach::Outside, ANY, "it stops the machine")] }
    "kill killall pkill" { harms: &[harm(Reach::Outside, ANY.with("-1"), "it stops every process")] }
    "crontab" { runs: super::UNKNOWN_RUNS, reads: &[BARE.only("-l").with("-l")],
        writes: Writes::All,
        harms: &[harm(Reach::Outside, ANY.with("-r"), "it removes all scheduled jobs")] }
    "journalctl" { runs_with: "--pager" }
    "ldd printenv top yes" {}

    // The network.
    "curl" { runs_with: "-K --config --engine", version: "--version", traits: &[Trait::Connects],
        writes: Writes::Options(
            "-o --output -O --output-dir -D --dump-header -c --cookie-jar --trace"),
        synonyms: &["-k --insecure", "-d --data", "-T --upload-file"] }
    "wget" { runs_with: "--use-askpass -e --execute --config", traits: &[Trait::Connects],
        writes: Writes::Options("-O --output-document -P --directory-prefix -o --output-file -a") }
    "dig host nslookup ping telnet" { traits: &[Trait::Connects] }
    "nc ncat netcat" { runs: Runs::Unknown(&[ANY.with("-z").without("-e -c --*")]),
        traits: &[Trait::Connects] }
    "ssh" { runs: super::UNKNOWN_RUNS, version: "-V", traits: &[Trait::Connects] }
    "rsync" { writes: Writes::Last,
        traits: &[Trait::ChangesTrees, Trait::Copies, Trait::Removes],
        runs: Runs::Unknown(&[
            ANY.without("-e -M --rsh --rsync-path --daemon --config --early-input *:*")]),
        harms: &[
            catastrophe(ANY.with("--del*"), Target::VitalDestination, REMOVES_VITAL),
            harm(Reach::Workspace, ANY.with("--del*"), DELETES),
        ] }
    "scp" { runs: super::UNKNOWN_RUNS, writes: Writes::Last, traits: &[Trait::Copies] }
    "openssl" { runs_with: "-engine -provider-path engine" }
    // A provider is a library that they load.
    "gpg gpg2" { writes: Writes::Nothing, runs_with: "--agent-program --dirmngr-program \
        --gpgconf-program --keyboxd-program --pinentry-program --photo-viewer --load-extension \
        --options" }
    "ssh-keygen" { runs_with: "-D -w", writes: Writes::Nothing }

    // Packages of the system.
    "apt apt-get" { runs_with: "-o --option -c --config-file", approval: Approval::Subcommand,
        actions: "update" }
    "apk brew dnf yum" { approval: Approval::Subcommand, actions: "install update",
        groups: "bundle group history module repo services" }
    "pacman" {}
    // Editors and pagers run commands, but write only the file that they are given.
    "cmake less make man more ninja node-gyp open pi xdg-open" { runs: super::UNKNOWN_RUNS,
        writes: Writes::Nothing, version: "--version" }
};
