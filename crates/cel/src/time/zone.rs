//! Time zones by offset or by name.
//!
//! There is no time zone database here. The table has the zones whose rules fit in
//! one line, from the year in which the rules began; any other name or year is an error rather than a guess.

use kubewright_golib::time::{GoTime, days_from_civil};

/// Returns the offset of `zone` at a time given in seconds since 1970, in seconds east of UTC.
pub(super) fn zone_offset(zone: &str, unix: i64) -> Result<i32, String> {
    if let "" | "UTC" | "Z" | "GMT" | "Etc/UTC" | "Etc/GMT" | "Zulu" | "Universal" = zone {
        return Ok(0);
    }
    if let Some(offset) = parse_fixed_offset(zone) {
        return Ok(offset);
    }
    let unknown = || format!("unknown time zone `{zone}`; use an offset such as `+02:00`");
    let (_, minutes, rule) = ZONES.iter().find(|(names, _, _)| names.contains(&zone)).ok_or_else(unknown)?;
    let standard = minutes * 60;
    let year = GoTime::from_unix(unix).civil().year;
    let Some(saving) = rule.saving(year) else {
        return Err(format!("the rules of time zone `{zone}` in {year} are not known"));
    };
    let is_saving = saving.is_some_and(|(start, end)| {
        let shift = i64::from(standard);
        let (start, end) = match rule {
            DaylightSavingRule::Europe => (start, end),
            // The end is given in daylight saving time, an hour ahead of standard time.
            _ => (start - shift, end - shift - 3600),
        };
        if start < end { (start..end).contains(&unix) } else { unix >= start || unix < end }
    });
    Ok(standard + if is_saving { 3600 } else { 0 })
}

/// The daylight saving rule of a zone.
#[derive(Clone, Copy)]
enum DaylightSavingRule {
    /// No daylight saving since a year.
    Never(i64),
    /// As in the United States and Canada.
    America,
    /// As in the European Union, everywhere at the same moment.
    Europe,
    /// As in the south-east of Australia.
    Australia,
    NewZealand,
}

impl DaylightSavingRule {
    /// Returns the start and end of daylight saving time in a year, both in the local time valid at that
    /// moment (Europe: in UTC); nothing for a year whose rules are not known.
    fn saving(self, year: i64) -> Option<Option<(i64, i64)>> {
        let hour = 3600;
        match self {
            Self::Never(from) => (year >= from).then_some(None),
            Self::America if year >= 2007 => Some(Some((
                first_sunday_from(year, 3, 8) + 2 * hour,
                first_sunday_from(year, 11, 1) + 2 * hour,
            ))),
            Self::America if year >= 1987 => Some(Some((
                first_sunday_from(year, 4, 1) + 2 * hour,
                first_sunday_from(year, 10, 25) + 2 * hour,
            ))),
            Self::Europe if year >= 1996 => {
                Some(Some((first_sunday_from(year, 3, 25) + hour, first_sunday_from(year, 10, 25) + hour)))
            }
            Self::Australia if year >= 2008 => Some(Some((
                first_sunday_from(year, 10, 1) + 2 * hour,
                first_sunday_from(year, 4, 1) + 3 * hour,
            ))),
            Self::NewZealand if year >= 2008 => Some(Some((
                first_sunday_from(year, 9, 24) + 2 * hour,
                first_sunday_from(year, 4, 1) + 3 * hour,
            ))),
            _ => None,
        }
    }
}

/// Returns the start of the first Sunday on or after a day, in seconds since 1970.
fn first_sunday_from(year: i64, month: u32, day: u32) -> i64 {
    let days = days_from_civil(year, month, day);
    // 1970 began on a Thursday.
    (days + (3 - days).rem_euclid(7)) * 86_400
}

/// Reads `+02:00`, `-8:00` or `02:00`.
fn parse_fixed_offset(zone: &str) -> Option<i32> {
    let (sign, rest) = match zone.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, zone.strip_prefix('+').unwrap_or(zone)),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let number = |text: &str| {
        text.parse::<i32>().ok().filter(|_| text.len() <= 2 && text.bytes().all(|c| c.is_ascii_digit()))
    };
    Some(sign * (number(hours)? * 3600 + number(minutes)? * 60))
}

/// Names, standard offset in minutes east of UTC, and the rule.
const ZONES: &[(&[&str], i32, DaylightSavingRule)] = &[
    (
        &[
            "Europe/London",
            "Europe/Dublin",
            "Europe/Lisbon",
            "Europe/Belfast",
            "GB",
            "Eire",
            "Portugal",
            "WET",
        ],
        0,
        DaylightSavingRule::Europe,
    ),
    (
        &[
            "Europe/Amsterdam",
            "Europe/Andorra",
            "Europe/Belgrade",
            "Europe/Berlin",
            "Europe/Bratislava",
            "Europe/Brussels",
            "Europe/Budapest",
            "Europe/Copenhagen",
            "Europe/Gibraltar",
            "Europe/Ljubljana",
            "Europe/Luxembourg",
            "Europe/Madrid",
            "Europe/Malta",
            "Europe/Monaco",
            "Europe/Oslo",
            "Europe/Paris",
            "Europe/Podgorica",
            "Europe/Prague",
            "Europe/Rome",
            "Europe/San_Marino",
            "Europe/Sarajevo",
            "Europe/Skopje",
            "Europe/Stockholm",
            "Europe/Tirane",
            "Europe/Vaduz",
            "Europe/Vatican",
            "Europe/Vienna",
            "Europe/Warsaw",
            "Europe/Zagreb",
            "Europe/Zurich",
            "Poland",
            "CET",
            "MET",
        ],
        60,
        DaylightSavingRule::Europe,
    ),
    (
        &[
            "Europe/Athens",
            "Europe/Bucharest",
            "Europe/Helsinki",
            "Europe/Kiev",
            "Europe/Kyiv",
            "Europe/Mariehamn",
            "Europe/Riga",
            "Europe/Sofia",
            "Europe/Tallinn",
            "Europe/Vilnius",
            "Asia/Nicosia",
            "EET",
        ],
        120,
        DaylightSavingRule::Europe,
    ),
    (&["Atlantic/Azores"], -60, DaylightSavingRule::Europe),
    (&["Atlantic/Canary", "Atlantic/Madeira", "Atlantic/Faroe"], 0, DaylightSavingRule::Europe),
    (
        &["Atlantic/Reykjavik", "Iceland", "Africa/Abidjan", "Africa/Accra", "Africa/Dakar"],
        0,
        DaylightSavingRule::Never(1970),
    ),
    (&["America/St_Johns", "Canada/Newfoundland"], -210, DaylightSavingRule::America),
    (&["America/Halifax", "Canada/Atlantic", "Atlantic/Bermuda"], -240, DaylightSavingRule::America),
    (
        &[
            "America/New_York",
            "America/Toronto",
            "America/Montreal",
            "America/Detroit",
            "US/Eastern",
            "US/Michigan",
            "Canada/Eastern",
            "EST5EDT",
        ],
        -300,
        DaylightSavingRule::America,
    ),
    (
        &[
            "America/Chicago",
            "America/Winnipeg",
            "America/Menominee",
            "US/Central",
            "Canada/Central",
            "CST6CDT",
        ],
        -360,
        DaylightSavingRule::America,
    ),
    (
        &["America/Denver", "America/Edmonton", "America/Boise", "US/Mountain", "Canada/Mountain", "MST7MDT"],
        -420,
        DaylightSavingRule::America,
    ),
    (
        &["America/Los_Angeles", "America/Vancouver", "US/Pacific", "Canada/Pacific", "PST8PDT"],
        -480,
        DaylightSavingRule::America,
    ),
    (&["America/Anchorage", "US/Alaska"], -540, DaylightSavingRule::America),
    (&["America/Phoenix", "US/Arizona", "MST"], -420, DaylightSavingRule::Never(1970)),
    (&["Pacific/Honolulu", "US/Hawaii", "HST"], -600, DaylightSavingRule::Never(1970)),
    (&["America/Puerto_Rico"], -240, DaylightSavingRule::Never(1970)),
    (&["America/Panama", "America/Jamaica", "EST"], -300, DaylightSavingRule::Never(1984)),
    (&["America/Bogota", "America/Lima", "America/Guayaquil"], -300, DaylightSavingRule::Never(1995)),
    (&["America/Mexico_City"], -360, DaylightSavingRule::Never(2023)),
    (
        &["America/Costa_Rica", "America/Guatemala", "America/El_Salvador", "America/Regina"],
        -360,
        DaylightSavingRule::Never(2007),
    ),
    (&["America/Sao_Paulo", "Brazil/East"], -180, DaylightSavingRule::Never(2020)),
    (&["America/Argentina/Buenos_Aires", "America/Buenos_Aires"], -180, DaylightSavingRule::Never(2010)),
    (&["America/Caracas"], -240, DaylightSavingRule::Never(2017)),
    (
        &["Europe/Moscow", "Europe/Minsk", "Europe/Istanbul", "Asia/Istanbul", "Turkey"],
        180,
        DaylightSavingRule::Never(2017),
    ),
    (
        &["Africa/Lagos", "Africa/Algiers", "Africa/Luanda", "Africa/Kinshasa"],
        60,
        DaylightSavingRule::Never(1982),
    ),
    (
        &["Africa/Johannesburg", "Africa/Harare", "Africa/Maputo", "Africa/Lusaka"],
        120,
        DaylightSavingRule::Never(1970),
    ),
    (&["Africa/Nairobi", "Africa/Addis_Ababa", "Africa/Kampala"], 180, DaylightSavingRule::Never(1970)),
    (&["Asia/Riyadh", "Asia/Kuwait", "Asia/Qatar", "Asia/Bahrain"], 180, DaylightSavingRule::Never(1973)),
    (&["Asia/Baghdad"], 180, DaylightSavingRule::Never(2008)),
    (&["Asia/Tehran", "Iran"], 210, DaylightSavingRule::Never(2023)),
    (&["Asia/Dubai", "Asia/Muscat", "Indian/Mauritius"], 240, DaylightSavingRule::Never(2010)),
    (&["Asia/Baku", "Asia/Tbilisi", "Asia/Yerevan"], 240, DaylightSavingRule::Never(2016)),
    (&["Asia/Kabul"], 270, DaylightSavingRule::Never(1970)),
    (&["Asia/Karachi", "Asia/Tashkent"], 300, DaylightSavingRule::Never(2010)),
    (&["Asia/Kolkata", "Asia/Calcutta", "Asia/Colombo"], 330, DaylightSavingRule::Never(2007)),
    (&["Asia/Kathmandu", "Asia/Katmandu"], 345, DaylightSavingRule::Never(1986)),
    (&["Asia/Dhaka"], 360, DaylightSavingRule::Never(2010)),
    (&["Asia/Yangon", "Asia/Rangoon"], 390, DaylightSavingRule::Never(1970)),
    (
        &["Asia/Bangkok", "Asia/Jakarta", "Asia/Ho_Chi_Minh", "Asia/Saigon", "Asia/Phnom_Penh"],
        420,
        DaylightSavingRule::Never(1976),
    ),
    (
        &[
            "Asia/Shanghai",
            "Asia/Hong_Kong",
            "Asia/Taipei",
            "Asia/Singapore",
            "Asia/Kuala_Lumpur",
            "Asia/Manila",
            "Asia/Macau",
            "Australia/Perth",
            "PRC",
            "Hongkong",
            "Singapore",
            "ROC",
        ],
        480,
        DaylightSavingRule::Never(2010),
    ),
    (&["Asia/Tokyo", "Asia/Seoul", "Japan", "ROK"], 540, DaylightSavingRule::Never(1989)),
    (&["Australia/Darwin"], 570, DaylightSavingRule::Never(1970)),
    (&["Australia/Adelaide", "Australia/Broken_Hill"], 570, DaylightSavingRule::Australia),
    (
        &["Australia/Brisbane", "Australia/Queensland", "Pacific/Guam", "Pacific/Port_Moresby"],
        600,
        DaylightSavingRule::Never(1993),
    ),
    (
        &[
            "Australia/Sydney",
            "Australia/Melbourne",
            "Australia/Hobart",
            "Australia/Canberra",
            "Australia/NSW",
            "Australia/Victoria",
            "Australia/Tasmania",
            "Australia/ACT",
        ],
        600,
        DaylightSavingRule::Australia,
    ),
    (&["Pacific/Auckland", "NZ", "Antarctica/McMurdo"], 720, DaylightSavingRule::NewZealand),
];
