/** What tools, models, policies and resolvers were told, held against what is known. */
import { type Asked, type Told, takeSeen } from './agents.ts';
import { look, type State } from './look.ts';
import { isEqual, type Person, toName } from './persons.ts';
import { remembers, type Session } from './truth.ts';
import type { Walk } from './walk.ts';

/** What tools and models were told in a step. */
export interface Seen {
	readonly tools: readonly Told[];
	readonly models: readonly Told[];
}

/** Holds what was told since the last time against what is known. */
export async function observe(walk: Walk): Promise<Seen> {
	const { tools, models, policies, skills } = takeSeen();
	const sessions = new Set<Session>();
	for (const told of [...tools, ...models, ...policies]) {
		const session = await findTold(walk, told);
		sessions.add(session);
		checkTold(walk, told, session);
	}
	for (const told of [...tools, ...models]) checkAsker(walk, told);
	for (const asked of policies) checkPolicy(walk, asked);
	for (const told of skills) checkSkills(walk, told, sessions);
	return { tools, models };
}

/** Somebody was told whose session it is, and no text of anybody else. */
function checkTold(walk: Walk, told: Told, session: Session): void {
	const whose = toName(session);
	const facts = `${told.what} in ${session.id}`;
	const isWhose = told.owner === session.owner && told.user === session.user;
	walk.check(isWhose, `${facts} of ${whose} was told ${told.owner}/${told.user}`);
	for (const mark of told.marks)
		walk.check(mark.slice(3, 8) === whose, `${facts} of ${whose} was given ${mark}, the text of somebody else`);
	const isSame = isEqual(told.metadata ?? {}, session.metadata);
	walk.check(isSame, `${facts} was told the metadata ${JSON.stringify(told.metadata)}`);
	walk.check(isExpected(told.error, session), `${facts}: ${told.error}`);
}

function checkAsker(walk: Walk, { what, sessionId = '', askedBy }: Told): void {
	const expected = walk.find(sessionId)?.askedBy;
	const said = `${what} in ${sessionId}: asked by ${JSON.stringify(askedBy)}`;
	walk.check(isEqual(askedBy, expected), `${said} in place of ${JSON.stringify(expected)}`);
}

/** A policy was told of all who have asked, and of nobody of another owner. */
function checkPolicy(walk: Walk, { what, by, askers, sessionId = '' }: Asked): void {
	const session = walk.find(sessionId);
	const missing = session?.askers.filter((asker) => !askers.some((one) => isEqual(one, asker))) ?? [];
	const told = `The policy of ${what} was told of ${JSON.stringify(askers)}`;
	walk.check(missing.length === 0, `${told}, and not of ${JSON.stringify(missing)}`);
	const isTheirs = [by, ...askers].every(({ owner }) => owner === session?.owner);
	walk.check(isTheirs, `The policy of ${what} was told of another owner: ${JSON.stringify([by, askers])}`);
}

/** A resolver was told whose session it is, or who calls over MCP: a client is served the skills of the caller. */
function checkSkills(walk: Walk, told: Told, sessions: ReadonlySet<Session>): void {
	const { askedBy } = told;
	const isTold = ({ owner, user }: Person) => told.owner === owner && told.user === user;
	const isKnown = sessions.size === 0 || [...sessions].some(isTold) || (askedBy?.via === 'mcp' && isTold(askedBy));
	const isOwners = told.what === `skills of ${told.owner}` && (askedBy?.owner ?? told.owner) === told.owner;
	walk.check(isOwners && isKnown, `The resolver was told ${JSON.stringify(told)}`);
}

/** Finds the session that somebody was told of. One that works for another one is found with that one. */
async function findTold(walk: Walk, { sessionId = '', what }: Told): Promise<Session> {
	const known = walk.find(sessionId);
	if (known !== undefined) return known;
	const answer = await walk.ask(walk.operator, `/v1/sessions/${sessionId}`, { isForOperators: true });
	const parent = walk.find(answer.status === 200 ? (answer.json<State>().parent?.id ?? '') : '');
	if (parent !== undefined) await look(walk, parent);
	return walk.find(sessionId) ?? walk.fail(`${what} ran in ${sessionId}, which nobody has made: ${answer.text}`);
}

/** Whether a call may have failed so: somebody has said no, or nothing is remembered of nobody. */
function isExpected(error: string | undefined, session: Session): boolean {
	if (error === undefined || error.startsWith('A person did not allow')) return true;
	return error.startsWith('There is no tool named remember') && !remembers(session);
}
