import type { ProviderCall, Source } from '../../../chat/provider-tool.ts';
import { getObject, getObjects, getString, type Json } from '../../adapter/json.ts';

/** Returns the call of a part with code that ran at Google, or with what came of it. `at` is the number of the call. */
export function readCodeCall(
	{ executableCode: code, codeExecutionResult: result }: Json,
	at: number,
): ProviderCall | undefined {
	const about = { id: `code_execution_${at}`, name: 'code_execution' };
	if (code !== undefined) return { ...about, input: code };
	if (result === undefined) return undefined;
	const outcome = getString(getObject({ result }, 'result'), 'outcome') ?? '';
	return { ...about, output: result, isError: !outcome.endsWith('OK') };
}

/** Lists the searches and fetches at the end of an answer. */
export function listWebCalls(ending: Json): readonly ProviderCall[] {
	const { webSearchQueries: queries } = getObject(ending, 'groundingMetadata');
	const searched = Array.isArray(queries) && queries.length > 0;
	const fetched = getObjects(getObject(ending, 'urlContextMetadata'), 'urlMetadata');
	return [
		...(searched ? [{ id: 'web_search_1', name: 'web_search', input: { queries }, output: listPages(ending) }] : []),
		...fetched.map(({ retrievedUrl: url, urlRetrievalStatus: status }, at) => {
			const isError = !`${status}`.endsWith('SUCCESS');
			return { id: `web_fetch_${at + 1}`, name: 'web_fetch', input: { url }, output: { status }, isError };
		}),
	];
}

/** Lists the pages and documents that an answer rests on. */
export function listPages(ending: Json): readonly Omit<Source, 'id'>[] {
	return getObjects(getObject(ending, 'groundingMetadata'), 'groundingChunks').flatMap((chunk) => {
		const page = getObject(
			chunk,
			['web', 'retrievedContext', 'maps'].find((kind) => chunk[kind] !== undefined) ?? 'web',
		);
		const [url, title] = [getString(page, 'uri'), getString(page, 'title')];
		return url === undefined && title === undefined ? [] : [{ url, title }];
	});
}
