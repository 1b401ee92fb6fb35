//! The command for bubblewrap itself, without the helper before it.
//!
//! The helper outside looks for open files and then becomes bubblewrap. Whoever knows that there
//! are none saves the start of a program: a part of a command's cost that can be measured.

use std::ffi::OsString;
use std::path::Path;

use super::{
    Command, Confined, ConfinementLevel, HELPER_ARGUMENT, bubblewrap, descriptors, launch, roots,
};

impl Confined {
    /// The same as [`Confined::command`], for callers whose standard streams are made for the
    /// command. Where it is not known that nothing else would be inherited, it is the same.
    pub fn direct_command(
        &self,
        program: &OsString,
        arguments: &[OsString],
        cwd: &Path,
        environment: &[(OsString, OsString)],
    ) -> Command {
        let usual = self.command(program, arguments, cwd, environment);
        self.direct(&usual, cwd).unwrap_or(usual)
    }

    fn direct(&self, usual: &Command, cwd: &Path) -> Option<Command> {
        let outer =
            self.bubblewrap.as_ref().filter(|_| self.level == ConfinementLevel::Bubblewrap)?;
        // Another program may be meant to help than this one.
        let helper = match self.helper.to_str() {
            Some("/proc/self/exe") => launch::this_program().ok()?,
            _ => self.helper.clone(),
        };
        if !helper.is_absolute() || !descriptors::inherited().is_empty() {
            return None;
        }
        let roots = roots::plan(&self.confinement).ok()?;
        let mut arguments = bubblewrap::arguments(&self.confinement, &roots, &helper, cwd);
        arguments.extend([helper.into(), HELPER_ARGUMENT.into(), launch::INSIDE.into()]);
        // After its own word, what the helper outside would have been told.
        arguments.extend(usual.arguments.iter().skip(1).cloned());
        let environment = usual.environment.clone();
        Some(Command { program: outer.clone().into(), arguments, environment })
    }
}
