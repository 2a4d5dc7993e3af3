export interface Drawn {
  readonly label: string
  /** A custom property of the theme, such as `--ok-fill`. */
  readonly colour: string
  readonly values: ReadonlyArray<number>
}

export interface Drawing {
  /** UTC days, such as `2026-11-22`. */
  readonly days: ReadonlyArray<string>
  /** Drawn in this order: what is behind comes first. */
  readonly series: ReadonlyArray<Drawn>
  readonly format: (value: number) => string
  readonly onDay: (index: number | undefined) => void
}
