/** Turns a value into the text of a column; into NULL where there is none. */
export function toJsonText(value: object | string | undefined): string | null {
	return value === undefined ? null : JSON.stringify(value);
}
