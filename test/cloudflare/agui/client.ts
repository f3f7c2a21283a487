import { HttpAgent, type HttpAgentConfig, type RunAgentInput } from '@ag-ui/client';
import { EventSchemas } from '@ag-ui/core/schemas';
import type { AguiEvent } from '../../../src/cloudflare/agui/writer.ts';

/** Reads the events of an answer, and checks each by the schemas of AG-UI. */
export function readEvents(text: string): AguiEvent[] {
	return text
		.split('\n\n')
		.filter((block) => block.startsWith('data: '))
		.map((block) => {
			const event: AguiEvent = JSON.parse(block.slice('data: '.length));
			EventSchemas.parse(event);
			return event;
		});
}

export function formatEvents(events: readonly AguiEvent[]): string {
	return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
}

/** The unchanged client, with an answer that `answer` makes of its request. */
export function createClient(answer: (input: RunAgentInput) => string, more: Partial<HttpAgentConfig> = {}): HttpAgent {
	return new HttpAgent({
		url: 'http://agui.test/',
		fetch: async (_, { body }) => {
			const text = answer(JSON.parse(String(body)));
			return new Response(text, { headers: { 'content-type': 'text/event-stream' } });
		},
		...more,
	});
}
