//! `strftime_now`, at the moment that the caller gives, in UTC.

use minijinja::{Error, ErrorKind};
use std::cell::Cell;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const SECONDS_A_DAY: i64 = 86_400;

thread_local! {
    /// What the render on this thread takes for now: templates are shared by threads, so it
    /// cannot lie in their environment.
    static NOW_UNIX_S: Cell<i64> = const { Cell::new(0) };
}

pub fn set_now(unix_s: i64) {
    NOW_UNIX_S.set(unix_s);
}

struct Moment {
    year: i64,
    month: usize, // 0 to 11
    day: i64,     // 1 to 31
    day_of_year: i64,
    weekday: usize, // 0 is Sunday
    second: i64,    // of the day
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Civil date of a count of days, by eras of 400 years that begin on the 1st of March
/// (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn moment(unix_s: i64) -> Moment {
    let days = unix_s.div_euclid(SECONDS_A_DAY);
    let shifted = days + 719_468; // from 0000-03-01
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let from_march = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * from_march + 2) / 153;
    let day = from_march - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 2 } else { march_month - 10 };
    let year = year_of_era + era * 400 + i64::from(month < 2);
    let day_of_year = if month < 2 {
        from_march - 306 + 1
    } else {
        from_march + 59 + i64::from(is_leap(year)) + 1
    };
    Moment {
        year,
        month: month as usize,
        day,
        day_of_year,
        weekday: (days + 4).rem_euclid(7) as usize, // 1970-01-01 was a Thursday
        second: unix_s.rem_euclid(SECONDS_A_DAY),
    }
}

fn hour_of_twelve(second: i64) -> i64 {
    (second / 3_600 + 11) % 12 + 1
}

/// One conversion, or None for one that we do not know. `plain` drops leading zeros (%-d).
fn conversion(moment: &Moment, letter: char, plain: bool) -> Option<String> {
    let number = |value: i64, width: usize| {
        if plain {
            value.to_string()
        } else {
            format!("{value:0width$}")
        }
    };
    let (hour, minute) = (moment.second / 3_600, moment.second / 60 % 60);
    Some(match letter {
        'Y' => moment.year.to_string(),
        'y' => number(moment.year.rem_euclid(100), 2),
        'm' => number(moment.month as i64 + 1, 2),
        'd' => number(moment.day, 2),
        'e' => format!("{:2}", moment.day),
        'j' => number(moment.day_of_year, 3),
        'H' => number(hour, 2),
        'I' => number(hour_of_twelve(moment.second), 2),
        'M' => number(minute, 2),
        'S' => number(moment.second % 60, 2),
        'p' => if hour < 12 { "AM" } else { "PM" }.into(),
        'B' => MONTHS[moment.month].into(),
        'b' | 'h' => MONTHS[moment.month][..3].into(),
        'A' => DAYS[moment.weekday].into(),
        'a' => DAYS[moment.weekday][..3].into(),
        'w' => moment.weekday.to_string(),
        'F' => format!("{}-{:02}-{:02}", moment.year, moment.month + 1, moment.day),
        'T' => format!("{hour:02}:{minute:02}:{:02}", moment.second % 60),
        'Z' => "UTC".into(),
        'z' => "+0000".into(),
        '%' => "%".into(),
        _ => return None,
    })
}

pub fn strftime_now(format: &str) -> Result<String, Error> {
    let moment = moment(NOW_UNIX_S.get());
    let mut out = String::new();
    let mut characters = format.chars();
    while let Some(char) = characters.next() {
        if char != '%' {
            out.push(char);
            continue;
        }
        let mut letter = characters.next();
        let plain = letter == Some('-');
        if plain {
            letter = characters.next();
        }
        match letter.and_then(|letter| conversion(&moment, letter, plain)) {
            Some(text) => out.push_str(&text),
            None => {
                return Err(Error::new(
                    ErrorKind::InvalidOperation,
                    "strftime_now: a conversion is not supported",
                ))
            }
        }
    }
    Ok(out)
}
