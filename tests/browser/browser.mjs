// The browser and the program that the tests of this folder drive.

import { spawn } from "node:child_process";
import { chromium } from "playwright-core";

export const launch = () => chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
});

// `kuramoto explore` with these arguments: its process and the link it prints.
export async function explore(program, args, options = {}) {
  const server = spawn(program, ["explore", ...args, "--no-browser"], { stdio: ["ignore", "pipe", "inherit"], ...options });
  const link = await new Promise((resolve, reject) => {
    server.stdout.once("data", (data) => resolve(String(data).trim()));
    server.once("exit", (code) => reject(new Error(`kuramoto explore ended with ${code}`)));
  });
  return { server, link };
}

// A page that collects what goes wrong; what a test provokes is not counted if it matches `expected`.
export async function open(browser, options = {}, { tour = false, expected = /^$/ } = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  page.errors = [];
  page.on("console", (message) => message.type() === "error" && !expected.test(message.text()) && page.errors.push(message.text()));
  page.on("pageerror", (error) => page.errors.push(String(error)));
  if (!tour) await page.addInitScript(() => localStorage.setItem("kuramoto-tour", "done"));
  return page;
}

export const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

export { unreadable } from "./readable.mjs";
