/** When the prices were looked up, and where. A provider key with a price of its own needs none of them. */
export const listedAt = "2026-09-23"
export const listedBy = "genai-prices 0.1.8 (pydantic, MIT), prices of the providers' own pages"

/** Per million tokens, in US dollars: input, cached input, output; and the names that have this price. */
export type ListedPrice = readonly [input: number, cached: number | null, output: number, names: string]

/**
 * Public list prices of text (docs/adr/0025-usage.md): what is used up to the first limit of length, at the usual speed, without
 * rebates. Names have no date and no `-latest`, unless the price of one date is another.
 */
export const priceList: Readonly<Record<string, ReadonlyArray<ListedPrice>>> = {
  openai: [
    [5, null, 15, "chatgpt-4o gpt-4o-2024-05-13"],
    [1.5, 0.375, 6, "codex-mini"],
    [1.5, null, 2, "gpt-3.5-turbo-0301 gpt-3.5-turbo-0613 gpt-3.5-turbo-instruct"],
    [0.5, null, 1.5, "gpt-3.5-turbo"],
    [1, null, 2, "gpt-3.5-turbo-1106"],
    [3, null, 4, "gpt-3.5-turbo-16k"],
    [30, null, 60, "gpt-4"],
    [
      10,
      null,
      30,
      "gpt-4-0125-preview gpt-4-1106-preview gpt-4-1106-vision-preview gpt-4-turbo gpt-4-turbo-0125-preview gpt-4-turbo-preview gpt-4-vision-preview"
    ],
    [60, null, 120, "gpt-4-32k"],
    [2, 0.5, 8, "gpt-4.1 o3"],
    [0.4, 0.1, 1.6, "gpt-4.1-mini"],
    [0.1, 0.025, 0.4, "gpt-4.1-nano"],
    [75, 37.5, 150, "gpt-4.5-preview"],
    [2.5, 1.25, 10, "gpt-4o"],
    [0.15, 0.075, 0.6, "gpt-4o-mini gpt-4o-mini-search-preview"],
    [1.25, 0.125, 10, "gpt-5 gpt-5-chat gpt-5-codex gpt-5.1 gpt-5.1-chat gpt-5.1-codex gpt-5.1-codex-max"],
    [0.25, 0.025, 2, "gpt-5-mini gpt-5.1-codex-mini gpt-5.1-mini"],
    [1.75, 0.175, 14, "gpt-5.2 gpt-5.2-chat gpt-5.2-codex gpt-5.3 gpt-5.3-chat gpt-5.3-codex"],
    [21, null, 168, "gpt-5.2-pro"],
    [2.5, 0.25, 15, "gpt-5.4"],
    [0.75, 0.075, 4.5, "gpt-5.4-mini"],
    [0.2, 0.02, 1.25, "gpt-5.4-nano"],
    [30, null, 180, "gpt-5.4-pro gpt-5.5-pro"],
    [5, 0.5, 30, "gpt-5.5 gpt-5.5-chat gpt-5.5-codex gpt-chat"],
    [4, 0.4, 20, "gpt-5.6 gpt-5.6-sol"],
    [0.2, 0.02, 1.2, "gpt-5.6-luna"],
    [2, 0.2, 12, "gpt-5.6-terra"],
    [0.05, 0.005, 0.4, "gpt-5-nano"],
    [15, null, 120, "gpt-5-pro"],
    [10, 1, 50, "gpt-6-astra"],
    [0.1, 0.01, 0.5, "gpt-6-luna"],
    [2, 0.2, 10, "gpt-6-sol"],
    [15, 7.5, 60, "o1 o1-preview"],
    [1.1, 0.55, 4.4, "o1-mini o3-mini o3-mini-high"],
    [150, null, 600, "o1-pro"],
    [20, null, 80, "o3-pro"],
    [1.1, 0.275, 4.4, "o4-mini o4-mini-high"]
  ],
  anthropic: [
    [8, null, 24, "claude-2 claude-v1"],
    [0.8, 0.08, 4, "claude-3-5-haiku claude-3.5-haiku"],
    [
      3,
      0.3,
      15,
      "claude-3-5-sonnet claude-3-7-sonnet claude-3-sonnet claude-3.5-sonnet claude-3.7-sonnet claude-4-sonnet claude-sonnet-3-7 claude-sonnet-3.7 claude-sonnet-4 claude-sonnet-4-0 claude-sonnet-4-5 claude-sonnet-4-6 claude-sonnet-4.5 claude-sonnet-4.6"
    ],
    [0.25, 0.03, 1.25, "claude-3-haiku"],
    [
      15,
      1.5,
      75,
      "claude-3-opus claude-4-opus claude-opus-4 claude-opus-4-0 claude-opus-4-1 claude-opus-4.1"
    ],
    [1, 0.1, 5, "claude-4-5-haiku claude-4.5-haiku claude-haiku-4-5 claude-haiku-4.5"],
    [
      5,
      0.5,
      25,
      "claude-4-5-opus claude-4-6-opus claude-4-7-opus claude-4-8-opus claude-4.5-opus claude-4.6-opus claude-4.7-opus claude-4.8-opus claude-5-opus claude-5.0-opus claude-opus-4-5 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-opus-4.5 claude-opus-4.6 claude-opus-4.7 claude-opus-4.8 claude-opus-5 claude-opus-5.0"
    ],
    [4, 0.2, 20, "claude-5-5-opus claude-5.5-opus claude-opus-5-5 claude-opus-5.5"],
    [2, 0.2, 10, "claude-5-sonnet claude-5.0-sonnet claude-sonnet-5 claude-sonnet-5.0"],
    [10, 1, 50, "claude-fable-5"],
    [10, 0.25, 50, "claude-fable-5-1"]
  ],
  google: [
    [0.125, null, 0.375, "gemini-1.0-pro gemini-1.0-pro-vision gemini-pro"],
    [0.075, 0.01875, 0.3, "gemini-1.5-flash gemini-flash-1.5"],
    [1.25, null, 5, "gemini-1.5-pro"],
    [0.1, 0.025, 0.4, "gemini-2.0-flash"],
    [0.075, null, 0.3, "gemini-2.0-flash-lite"],
    [0.3, 0.03, 2.5, "gemini-2.5-flash gemini-2.5-flash-preview-09 gemini-3.5-flash-lite"],
    [0.1, 0.01, 0.4, "gemini-2.5-flash-lite"],
    [0.15, null, 0.6, "gemini-2.5-flash-preview"],
    [1.25, 0.125, 10, "gemini-2.5-pro"],
    [0.5, 0.05, 3, "gemini-3-flash-preview"],
    [2, 0.2, 12, "gemini-3-pro-preview gemini-3-pro-text-preview gemini-3.1-pro-preview"],
    [0.25, 0.025, 1.5, "gemini-3.1-flash-lite gemini-3.1-flash-lite-preview"],
    [1.5, 0.15, 9, "gemini-3.5-flash gemini-3.5-flash-preview"],
    [0.75, 0.075, 3.75, "gemini-3.6-flash gemini-3.7-flash gemini-3.8-flash"],
    [0.0375, 0.01, 0.15, "gemini-flash-1.5-8b"],
    [1.5, null, 9, "gemini-omni-flash-preview"],
    [1.25, 0.3125, 5, "gemini-pro-1.5"]
  ]
}
