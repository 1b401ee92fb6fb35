//! Property test: after any change of the files or the cache, the index agrees with the files.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use pi_session::{ListOptions, OpenOptions, Session, SessionIndex, SessionInfo};
use proptest::prelude::*;
use proptest::sample::Index;
use tempfile::TempDir;

use crate::log::answer;

const QUERIES: &[&str] = &["alpha", "BETA gamma", "\"beta gamma\"", "a", "日本", "name"];

const TEXTS: &[&str] =
    &["Alpha", "beta gamma", "gamma\nBETA", "日本語", "ALPHA beta", "nothing", "naïve name"];

/// A change of a file or of the cache.
#[derive(Debug, Clone)]
enum Step {
    Create(usize),
    /// Appends a message through a session.
    Append(Index, usize),
    Name(Index, usize),
    /// Appends bytes that need not be an entry.
    Bytes(Index, Vec<u8>),
    Truncate(Index, Index),
    /// Replaces a file in place, or by renaming another file.
    Replace(Index, usize, bool),
    Rename(Index),
    Delete(Index),
    /// Overwrites bytes in the middle, without changing size and time stamps.
    Overwrite(Index, usize),
    DamageCache(bool, Index, u8),
    TruncateCache(bool, Index),
    DeleteCache(bool),
    /// Replaces one of the indexes by a new one.
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let text = 0..TEXTS.len();
    let file = any::<Index>;
    prop_oneof![
        4 => text.clone().prop_map(Step::Create),
        6 => (file(), text.clone()).prop_map(|(file, text)| Step::Append(file, text)),
        1 => (file(), text.clone()).prop_map(|(file, text)| Step::Name(file, text)),
        2 => (file(), prop_oneof![
            Just(b"\n".to_vec()),
            Just(b"{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"alpha raw".to_vec()),
            Just(b"\"}}\n".to_vec()),
            proptest::collection::vec(any::<u8>(), 1..20),
        ]).prop_map(|(file, bytes)| Step::Bytes(file, bytes)),
        2 => (file(), file()).prop_map(|(file, at)| Step::Truncate(file, at)),
        2 => (file(), text.clone(), any::<bool>()).prop_map(|(f, t, i)| Step::Replace(f, t, i)),
        1 => file().prop_map(Step::Rename),
        1 => file().prop_map(Step::Delete),
        1 => (file(), text).prop_map(|(file, text)| Step::Overwrite(file, text)),
        2 => (any::<bool>(), file(), 1_u8..).prop_map(|(c, at, b)| Step::DamageCache(c, at, b)),
        1 => (any::<bool>(), file()).prop_map(|(c, at)| Step::TruncateCache(c, at)),
        1 => any::<bool>().prop_map(Step::DeleteCache),
        1 => Just(Step::Reopen),
    ]
}

struct TestEnv {
    root: TempDir,
    cache: TempDir,
    renamed: usize,
}

impl TestEnv {
    fn files(&self) -> Vec<PathBuf> {
        let mut files = pi_session::session_files(&self.root.path().join("--proj--")).unwrap();
        files.sort();
        files
    }

    fn pick(&self, index: &Index) -> Option<PathBuf> {
        let files = self.files();
        (!files.is_empty()).then(|| index.get(&files).clone())
    }

    fn open(&self, file: &Index) -> Option<Session> {
        Session::open(self.pick(file)?, &OpenOptions::append()).ok()
    }

    fn content(&self, text: usize) -> Vec<u8> {
        let elsewhere = TempDir::new().unwrap();
        let session = crate::index::new_session(elsewhere.path(), "/proj", TEXTS[text]);
        fs::read(session.path().unwrap()).unwrap()
    }

    fn cache_file(&self, catalog: bool) -> PathBuf {
        self.cache.path().join(if catalog { "catalog" } else { "text" })
    }

    /// Applies a step; `None` if it needs a file that does not exist.
    fn apply(&mut self, step: &Step) -> Option<()> {
        match step {
            Step::Create(text) => {
                let directory = self.root.path().join("--proj--");
                drop(crate::index::new_session(&directory, "/proj", TEXTS[*text]));
            }
            Step::Append(file, text) => {
                self.open(file)?.append_message(answer(TEXTS[*text])).unwrap();
            }
            Step::Name(file, text) => {
                self.open(file)?.append_name(TEXTS[*text]).unwrap();
            }
            Step::Bytes(file, bytes) => {
                let mut file = File::options().append(true).open(self.pick(file)?).unwrap();
                file.write_all(bytes).unwrap();
            }
            Step::Truncate(file, at) => cut(&self.pick(file)?, at),
            Step::Replace(file, text, in_place) => {
                let (path, content) = (self.pick(file)?, self.content(*text));
                if *in_place {
                    fs::write(path, content).unwrap();
                } else {
                    let other = self.root.path().join("other");
                    fs::write(&other, content).unwrap();
                    fs::rename(other, path).unwrap();
                }
            }
            Step::Rename(file) => {
                self.renamed += 1;
                let path = self.pick(file)?;
                let name = format!("renamed-{}.jsonl", self.renamed);
                fs::rename(&path, path.with_file_name(name)).unwrap();
            }
            Step::Delete(file) => fs::remove_file(self.pick(file)?).unwrap(),
            Step::Overwrite(file, text) => {
                let path = self.pick(file)?;
                let before = fs::metadata(&path).unwrap().modified().unwrap();
                let mut content = fs::read(&path).unwrap();
                let (old, new) = (b"lpha", [b"LPHA", b"zzzz"][text % 2]);
                let at = content.windows(4).position(|window| window == old)?;
                content[at..at + 4].copy_from_slice(new);
                let mut file = File::options().write(true).open(&path).unwrap();
                file.write_all(&content).unwrap();
                file.set_modified(before).unwrap();
            }
            Step::DamageCache(catalog, at, bits) => {
                let path = self.cache_file(*catalog);
                let mut file = File::options().read(true).write(true).open(path).ok()?;
                let len = usize::try_from(file.metadata().unwrap().len()).unwrap();
                let at = at.index(len.max(1)) as u64;
                let mut byte = [0];
                file.seek(SeekFrom::Start(at)).unwrap();
                file.read_exact(&mut byte).ok()?;
                file.seek(SeekFrom::Start(at)).unwrap();
                file.write_all(&[byte[0] ^ bits]).unwrap();
            }
            Step::TruncateCache(catalog, at) => cut(&self.cache_file(*catalog), at),
            Step::DeleteCache(catalog) => fs::remove_file(self.cache_file(*catalog)).ok()?,
            Step::Reopen => {}
        }
        Some(())
    }

    fn index(&self) -> SessionIndex {
        SessionIndex::new(self.root.path(), Some(self.cache.path().to_owned()))
    }
}

fn cut(path: &Path, at: &Index) {
    if let Ok(file) = File::options().write(true).open(path) {
        let len = usize::try_from(file.metadata().unwrap().len()).unwrap();
        file.set_len(at.index(len + 1) as u64).unwrap();
    }
}

/// Reads the sessions from their files.
fn read_all(files: &[PathBuf]) -> Vec<SessionInfo> {
    let mut sessions: Vec<_> = files.iter().flat_map(|path| SessionInfo::read(path)).collect();
    sessions.sort_by(|a, b| {
        b.modified.cmp(&a.modified).then_with(|| a.path.as_os_str().cmp(b.path.as_os_str()))
    });
    sessions
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_index_agrees_with_the_files(
        steps in proptest::collection::vec((step(), any::<bool>()), 1..40),
    ) {
        let (root, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let mut env = TestEnv { root, cache, renamed: 0 };
        // Two indexes exist all the time, and the third one is replaced.
        let mut indexes = [env.index(), env.index(), env.index()];
        for (at, (step, look)) in steps.iter().enumerate() {
            env.apply(step);
            if matches!(step, Step::Reopen) {
                indexes[2] = env.index();
            }
            if !look {
                continue;
            }
            let expected = read_all(&env.files());
            let mut without = SessionIndex::new(env.root.path(), None);
            let index = &mut indexes[at % 3];
            let listed = index.list(&ListOptions::default());
            prop_assert_eq!(&listed.sessions, &expected);
            prop_assert_eq!(listed.sessions.len() + listed.problems.len(), env.files().len());
            for query in QUERIES {
                let options = ListOptions::default();
                let found = without.search(query, &options).hits;
                prop_assert_eq!(&index.search(query, &options).hits, &found, "{}", query);
            }
            prop_assert_eq!(&index.list(&ListOptions::default()).sessions, &expected);
        }
    }
}
