/** Calls share connections. A real server counts the connections. */

import { afterAll, describe, expect, test } from 'vitest';
import { chat, type Tool } from '../../../src/core/index.ts';
import { citySchema, type NeutralReply } from './wire/dialect.ts';
import { dialects } from './wire/dialects.ts';
import { type Script, startServer } from './wire/server.ts';

const server = await startServer();
afterAll(() => server.close());

const call = (id: string): NeutralReply => ({
	calls: [{ id, name: 'look', argumentsJson: '{"city":"Ulm"}' }],
	stop: 'tool_use',
});
const replies: readonly NeutralReply[] = [
	...['call_1', 'call_2', 'call_3', 'call_4'].map(call),
	{ text: 'Sunny.', stop: 'end_turn' },
];

describe.each(dialects.filter(({ can }) => can.endsItself))('$name', (dialect) => {
	test('runs reuse connections, even if a run continues before the server ends its response', async () => {
		/** Lets the server end the open answer. */
		let endAnswer: () => Promise<unknown> = async () => {};
		const look: Tool = {
			name: 'look',
			description: 'Looks.',
			inputSchema: citySchema,
			fn: async () => {
				await endAnswer();
				return 'sunny';
			},
		};
		server.play(
			...[...replies, ...replies].map(
				(reply): Script =>
					async (exchange) => {
						endAnswer = () => {
							exchange.end();
							return exchange.closed;
						};
						await exchange.write(dialect.events(reply).join(''));
					},
			),
		);
		const options = { model: dialect.model, providers: [dialect.provider(server.url)], tools: [look] };
		const before = server.connections;
		for (const _ of ['first', 'second']) {
			expect(await chat.run(options, [chat.userMessage('Hello')]).result).toMatchObject({ text: 'Sunny.' });
			await endAnswer();
		}
		expect(server.requests).toHaveLength(2 * replies.length);
		// A connection is not reused before the end of its answer is read.
		expect(server.connections - before).toBeLessThanOrEqual(3);
	});
});
