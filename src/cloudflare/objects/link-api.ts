import type * as v from 'valibot';
import type { Shown } from '../wire/operation.ts';
import type { decisionLinks, linkBody } from '../wire/token.ts';

/** The request for links to decide about a call. */
export type LinkRequest = v.InferOutput<typeof linkBody>;

export type DecisionLinks = Shown<typeof decisionLinks>;

/** A call as the page of a decision link shows it. */
export interface LinkedCall {
	/** What the link decides. */
	readonly approve: boolean;
	/** Who decides by it. */
	readonly for?: string;
	readonly agent: string;
	readonly title?: string;
	readonly tool: string;
	/** Its arguments as JSON. */
	readonly input: string;
}
