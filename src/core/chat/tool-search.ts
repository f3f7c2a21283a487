import * as v from 'valibot';
import { stem } from '../base/text.ts';
import { filterAvailable } from '../tool/call.ts';
import { define } from '../tool/define.ts';
import type { Tool, ToolCall } from '../tool/index.ts';

/** The default limit for the tools of a request. With more tools the model searches. */
export const mostSent = 40;
const mostFound = 10;
export const searchName = 'search_tools';
const foundTools = v.object({ tools: v.array(v.object({ name: v.string() })) });

/** Makes the tool `search_tools`. The found tools are sent from the next turn on. */
export function createToolSearch(tools: readonly Tool[]): Tool {
	return define({
		name: searchName,
		// The description names no number of tools, because a new number would change the prompt.
		description:
			'Find further tools by words of their names and descriptions. Those that are found can be called from the next turn on.',
		inputSchema: v.object({ query: v.pipe(v.string(), v.minLength(1), v.description('Words, such as send email')) }),
		passInput: true,
		retry: 'safe',
		onRequest: ({ query }) => ['Searching tools', query],
		fn: async ({ query }, context) => {
			const found = await filterAvailable(rankTools(tools, query), context);
			const shown = found.slice(0, mostFound).map(({ name, description = '' }) => ({ name, description }));
			if (shown.length > 0) return { tools: shown };
			return { tools: [], note: 'No tool has one of these words. Search by other ones.' };
		},
	});
}

const stopWords = new Set(
	`a about all an and any are as at be by can do for from has have how i in into is it its me my of on or our please that
	the their then this to up us was we what when where which with you your`.split(/\s+/),
);

/** Words with at least this many letters are also searched inside other words. */
const shortestPart = 4;

/** Ranks the tools that have words of the query, compared by stem, best first. Words in a tool's name count most. */
function rankTools(tools: readonly Tool[], query: string): readonly Tool[] {
	const all = splitWords(query);
	const searched = all.filter((word) => !stopWords.has(word));
	const words = new Set(searched.length > 0 ? searched : all);
	const score = ({ name, description = '' }: Tool): number => {
		const [inName, inDescription] = [createTest(name), createTest(description)];
		let sum = 0;
		for (const word of words) sum += (inName(word) ? 3 : 0) + (inDescription(word) ? 1 : 0);
		return sum;
	};
	const ranked = tools.map((tool) => ({ tool, score: score(tool) })).filter((match) => match.score > 0);
	return ranked.toSorted((one, other) => other.score - one.score).map(({ tool }) => tool);
}

/** Splits a text into words in lower case: `sendEmail` and `send_email` into two words. */
function splitWords(text: string): readonly string[] {
	const apart = text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2');
	return apart.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

function createTest(text: string): (word: string) => boolean {
	const stems = new Set(splitWords(text).map(stem));
	const lower = text.toLowerCase();
	// Scripts without spaces have short words.
	const isPart = (word: string): boolean => word.length >= shortestPart || /[^\p{Script=Latin}\p{N}]/u.test(word);
	return (word) => stems.has(stem(word)) || (isPart(word) && lower.includes(word));
}

/** Lists the tools of a call: the results of a search, or the called tool. */
export function listKnownTools({ name }: ToolCall, result: unknown): readonly string[] {
	if (name !== searchName) return [name];
	return v.is(foundTools, result) ? result.tools.map((tool) => tool.name) : [];
}
