//! The commands, each of which is described only when it is called: describing all of them takes longer than many of them
//! do.

/// Declares the commands: the line of the help, the word, and the arguments.
macro_rules! commands {
    ($(#[doc = $about:literal] $(#[cfg($($condition:tt)*)])? $word:literal => $variant:ident($arguments:ty),)*) => {
        /// The commands.
        #[derive(Debug)]
        pub(crate) enum CliCommand {
            $(#[doc = $about] $(#[cfg($($condition)*)])? $variant($arguments),)*
        }

        impl CliCommand {
            /// Describes all commands of `program`.
            fn describe_all(program: clap::Command) -> clap::Command {
                program.mut_subcommands(|command| match command.get_name() {
                    $($(#[cfg($($condition)*)])? $word => {
                        <$arguments as clap::Args>::augment_args(command.defer(|command| command)).about($about.trim())
                    })*
                    _ => command,
                })
            }
        }

        impl clap::Subcommand for CliCommand {
            fn augment_subcommands(program: clap::Command) -> clap::Command {
                $($(#[cfg($($condition)*)])? let program = program.subcommand(
                    clap::Command::new($word)
                        .about($about.trim())
                        .defer(|command| <$arguments as clap::Args>::augment_args(command).about($about.trim())),
                );)*
                program
            }

            fn augment_subcommands_for_update(program: clap::Command) -> clap::Command {
                Self::augment_subcommands(program)
            }

            fn has_subcommand(word: &str) -> bool {
                match word {
                    $($(#[cfg($($condition)*)])? $word => true,)*
                    _ => false,
                }
            }
        }

        impl clap::FromArgMatches for CliCommand {
            fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
                Self::from_arg_matches_mut(&mut matches.clone())
            }

            fn from_arg_matches_mut(matches: &mut clap::ArgMatches) -> Result<Self, clap::Error> {
                use clap::error::ErrorKind;

                let (word, mut matches) =
                    matches.remove_subcommand().ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
                match word.as_str() {
                    $($(#[cfg($($condition)*)])? $word => {
                        <$arguments as clap::FromArgMatches>::from_arg_matches_mut(&mut matches).map(Self::$variant)
                    })*
                    _ => Err(clap::Error::new(ErrorKind::InvalidSubcommand)),
                }
            }

            fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }
    };
}
