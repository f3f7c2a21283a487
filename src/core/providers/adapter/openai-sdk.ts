/**
 * The used part of OpenAI's SDK, as a module of its own. The first request loads it. The package holds a copy of it
 * (scripts/pack/copies.ts).
 */
export { OpenAI } from 'openai/client';
