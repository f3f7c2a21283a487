/** The examples of CommonMark's specification. The package has no types. */
declare module 'commonmark-spec' {
	export const tests: readonly { readonly number: number; readonly markdown: string; readonly html: string }[];
}
