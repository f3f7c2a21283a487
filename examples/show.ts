import { type ChatOptions, chat, fn } from 'runlet';
import * as v from 'valibot';

const add = fn(
	{
		name: 'add',
		doc: 'Add two numbers.',
		params: [
			['x', v.number()],
			['y', v.number()],
		],
		returns: v.number(),
	},
	(x, y) => x + y,
);

/** Asks a model a question that it needs a tool for, and prints what it streams, what it used and what it cost. */
export async function show(options: Pick<ChatOptions, 'model' | 'providers'>): Promise<void> {
	const run = chat.run({ system: 'Use the tool for sums. Be brief.', tools: [add], ...options }, [
		chat.userMessage('What is 17 + 25, and why is that number famous?'),
	]);
	for await (const event of run.events) {
		if (event.type === 'text') process.stdout.write(event.text);
		if (event.type === 'tool_use_start') process.stdout.write(`[${event.name}] `);
		if (event.type === 'done') {
			const { inputTokens, outputTokens, costUsd } = event.usage;
			console.log(
				`\n\n${inputTokens} tokens in, ${outputTokens} out, ${costUsd === undefined ? 'price unknown' : `$${costUsd.toFixed(6)}`}`,
			);
		}
		if (event.type === 'error') {
			console.error(event.message);
			process.exitCode = 1;
		}
	}
}
