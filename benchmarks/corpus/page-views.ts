import type { Randomness } from "./randomness.ts";

const words = (list: string): readonly string[] => list.split(" ");

const textColumns = [
  ...words("session_id user_id anonymous_id event_name page_url referrer user_agent page_title"),
  ...words("utm_source utm_medium utm_campaign utm_term utm_content country region city language browser"),
  ...words("browser_version os os_version device_type device_model screen timezone ip isp ab_variant"),
  ...words("search_query product_id category element_id element_text element_path error_message"),
];
const integerColumns = words(
  "scroll_depth click_x click_y viewport_w viewport_h load_ms dom_ms ttfb_ms page_views session_seq",
);
const floatColumns = words("lat lon revenue score");
const boolColumns = words("is_bot is_mobile logged_in consent first_visit");

const of = (names: readonly string[], type: string): readonly PageViewField[] => names.map((name) => ({ name, type }));

interface PageViewField {
  readonly name: string;
  readonly type: string;
  readonly mode?: "REQUIRED" | "REPEATED";
}

export const pageViewFields: readonly PageViewField[] = [
  ...of(textColumns, "STRING"),
  ...of(integerColumns, "INT64"),
  ...of(floatColumns, "FLOAT64"),
  ...of(boolColumns, "BOOL"),
  { name: "event_ts", type: "TIMESTAMP", mode: "REQUIRED" },
  { name: "received_ts", type: "TIMESTAMP" },
  { name: "event_date", type: "DATE" },
  { name: "experiments", type: "STRING", mode: "REPEATED" },
  { name: "properties", type: "JSON" },
  { name: "html_snippet", type: "STRING" },
];

const absentShare = 0.06;

/** One event of web analytics: wide, with long texts, and a few columns absent. */
export function randomPageView(random: Randomness): object {
  const present = pageViewFields.filter((field) => field.mode === "REQUIRED" || !random.chance(absentShare));
  return Object.fromEntries(present.map((field) => [field.name, randomValue(field, random)]));
}

function randomValue({ name, type, mode }: PageViewField, random: Randomness): unknown {
  switch (type) {
    case "INT64":
      return random.integer(0, 5000);
    case "FLOAT64":
      return name === "lat" || name === "lon" ? random.fraction() * 180 - 90 : random.decimal(1000, 2);
    case "BOOL":
      return random.chance(0.5);
    case "TIMESTAMP":
      return random.timestamp();
    case "DATE":
      return random.date();
    case "JSON":
      return randomProperties(random);
    default:
      return mode === "REPEATED" ? randomExperiments(random) : randomTextOf(name, random);
  }
}

const texts: Readonly<Record<string, (random: Randomness) => string>> = {
  page_url: randomUrl,
  referrer: randomUrl,
  user_agent: (random) =>
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_${random.integer(1, 9)}) AppleWebKit/537.36 ` +
    `(KHTML, like Gecko) Chrome/1${random.integer(10, 30)}.0.0.0 Safari/537.36`,
  page_title: (random) => `${random.words(8)} – ${random.pick(["Zoë", "李明", "Søren", "Raúl"])}`,
  search_query: (random) => random.words(5),
  element_text: (random) => random.words(40),
  element_path: (random) => Array.from({ length: 12 }, () => `div.${random.word()}`).join(" > "),
  error_message: (random) => random.words(60),
  html_snippet: (random) => `<div class="${random.word()}">\n  <p>${random.prose(4830)}</p>\n</div>`,
};

function randomTextOf(name: string, random: Randomness): string {
  if (name.endsWith("_id")) return random.hex(32);
  return texts[name]?.(random) ?? random.word();
}

function randomUrl(random: Randomness): string {
  const query = `utm_source=${random.word()}&q=${random.hex(24)}&sid=${random.hex(40)}&gclid=${random.hex(80)}`;
  return `https://www.example.com/${random.word()}/${random.word()}/${random.hex(10)}?${query}`;
}

function randomExperiments(random: Randomness): string[] {
  return Array.from({ length: 6 }, () => `exp_${random.hex(6)}:${random.pick(["A", "B"])}`);
}

function randomProperties(random: Randomness): object {
  const members = Array.from({ length: 24 }, (_, i) => [`${random.word()}_${i}`, randomProperty(random)] as const);
  return Object.fromEntries(members);
}

function randomProperty(random: Randomness): unknown {
  if (random.chance(0.4)) return random.integer(0, 1_000_000);
  if (random.chance(0.66)) return random.words(random.integer(3, 8));
  return { a: random.hex(8), b: [1, 2, random.integer(0, 99)] };
}
