import * as z from 'zod';

/** What a published client can do, in the words that all clients share. */
export interface Client {
	/** The names of its packages in `package.json`. */
	readonly packages: readonly string[];
	readonly wire: Wire;
	/** Whether the client has answers without a stream, with a stream, or both. The default is both. */
	readonly ways?: readonly Way[];
	/** The columns in which the client does something else, in one or both of its ways: the notes that say what. */
	readonly notes?: Readonly<Record<string, string | Partial<Record<Way, string>>>>;
	/** The name of the tool that the client runs. */
	readonly tool?: string;
	/** The name of the tool by which the client asks for JSON. */
	readonly jsonTool?: string;
	/** Begins a conversation. */
	open(terms: Terms): Talk;
}

export type Wire = 'Chat Completions' | 'Responses' | 'Messages' | 'AG-UI' | 'AI SDK pages';
export type Way = 'whole' | 'stream';

export interface Terms {
	/** The address of the server. */
	readonly url: string;
	readonly agent: string;
	readonly isStreamed: boolean;
	/** Whether the client has the tool `weather`. */
	readonly hasTool?: boolean;
	readonly headers?: Readonly<Record<string, string>>;
	readonly signal?: AbortSignal;
}

export interface Talk {
	/** Sends a message and runs the calls of the client's tool. Returns the text of the answer. Throws if the client does. */
	say(text: string): Promise<string>;
	/** Approves the call that the run waits for. Returns the text of the answer. */
	approve?(): Promise<string>;
	/** Sends the last message again, whose answer was lost. */
	again?(): Promise<string>;
	/** Asks for a city as JSON. */
	parse?(): Promise<unknown>;
	/** Sends a message, leaves in the middle of the answer and calls `left`. Then reads the answer on. Returns its text. */
	resume?(left: () => void): Promise<string>;
	/** Sends a message, and stops the run in the middle of the answer. */
	cancel?(): Promise<void>;
}

export function listWays({ ways = ['whole', 'stream'] }: Client): readonly Way[] {
	return ways;
}

/** The tool `weather` of a client. */
export const weather = {
	name: 'weather',
	description: 'The weather.',
	parameters: {
		type: 'object' as const,
		properties: { at: { type: 'string' as const } },
		required: ['at'],
		additionalProperties: false as const,
	},
	schema: z.object({ at: z.string() }),
	run: ({ at }: { readonly at: string }) => `rain in ${at}`,
};

/** The form of a structured answer. */
export const city = z.object({ city: z.string(), people: z.number() });

/** The notes of clients that send the whole conversation each time. */
export const conversations = { approval: 'refused', resume: 'elsewhere', cancel: 'leaves' };
