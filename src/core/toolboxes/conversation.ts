import * as v from 'valibot';
import { cutAround } from '../ground/text.ts';
import { Work } from '../ground/work.ts';
import { define } from '../tool/define.ts';
import type { ConversationText, Tool } from '../tool/index.ts';

/** The steps to read a message, besides those for its characters. */
const perMessage = 1_000;
/** Characters of a message that are shown, around what was found. */
const shownCharacters = 2_000;

/** Makes the tool `search_conversation`. */
export function searchConversationTool(): Tool {
	return define({
		name: 'search_conversation',
		description: 'Find earlier messages of this conversation by a text in them, the newest first.',
		inputSchema: v.object({
			query: v.pipe(
				v.string(),
				v.minLength(1),
				v.maxLength(200),
				v.description('A word or a few that stand in the message'),
			),
			limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(50), v.description('10'))),
		}),
		passInput: true,
		retry: 'safe',
		isAvailable: ({ readConversation }) => readConversation !== undefined,
		onRequest: ({ query }) => ['Searching the conversation', query],
		onResult: (_, { matches }) => `${matches.length} messages found`,
		fn: async ({ query, limit = 10 }, { readConversation, signal }) => {
			const work = new Work({ signal, field: 'query', remedy: 'Search for a longer text that is rarer.' });
			return { matches: await findMatches(readConversation?.() ?? [], query.toLowerCase(), { limit, work }) };
		},
	});
}

async function findMatches(
	messages: Iterable<ConversationText>,
	query: string,
	{ limit, work }: { readonly limit: number; readonly work: Work },
): Promise<readonly ConversationText[]> {
	const found: ConversationText[] = [];
	for (const { role, text } of messages) {
		const at = text.toLowerCase().indexOf(query);
		if (at !== -1) found.push({ role, text: cutAround(text, at, shownCharacters) });
		if (found.length === limit) break;
		await work.add(perMessage + text.length);
	}
	return found;
}
